package permission

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission/line"
	"artoo/tool/names"
	facts "artoo/tool/project"
)

// reference is a file or directory of the project that a setting of git's, or a hook, names.
type reference struct {
	path string // absolute
	by   string // who names it, in words
}

// references finds the files of the project that settings and hooks name.
type references struct {
	root  string
	home  string
	found []reference
	// unread are the settings whose command cannot be parsed.
	unread []string
}

// add takes a path as it is written and without links, unless the project lies in it.
func (r *references) add(path, by string) {
	for _, at := range []string{filepath.Clean(path), names.Real(path)} {
		ref := reference{at, "git's configuration names (" + by + ")"}
		if !names.Within(at, r.root) && !slices.Contains(r.found, ref) {
			r.found = append(r.found, ref)
		}
	}
}

// why explains why a file is guarded, "" for one that nothing names. A link is also where a directory above a named
// file would be: it gives that file another content.
func (r *references) why(path string, link bool) string {
	folded := names.Fold(path)
	for _, ref := range r.found {
		named := names.Fold(ref.path)
		_, ok := names.Relative(named, folded)
		if !ok && link {
			_, ok = names.Relative(folded, named)
		}
		if ok {
			return "it writes " + below(r.root, ref.path) + ", which " + ref.by
		}
	}
	return ""
}

// Keys of git's configuration, by their last part. Every other value is looked at as well: one that names a file of the
// project guards it.
const (
	// commandKeys hold commands, whose directories count too.
	commandKeys = `clean smudge process fsmonitor sshcommand editor askpass pager gitproxy alternaterefscommand external command
		textconv driver program defaultkeycommand helper packobjectshook uploadpack receivepack cmd browser difffilter
		sendmailcmd tocmd cccmd headercmd httpd tunnel args update vcs`
	// dataKeys and dataSections hold names, addresses and files that git only reads.
	dataKeys = `url pushurl fetch push merge insteadof pushinsteadof excludesfile template ignorerevsfile pretty name email
		worktree`
	dataSections = `user author committer branch color column advice`
)

// setting takes the files that a setting names. dir is the directory of git's files.
func (r *references) setting(s facts.GitSetting, dir string) {
	section, _, _ := strings.Cut(s.Key, ".")
	last := s.Key[strings.LastIndexByte(s.Key, '.')+1:]
	value, external := strings.CutPrefix(s.Value, "ext::")
	from := r.root
	if s.From != "" {
		from = filepath.Dir(s.From)
	}
	switch {
	case s.Includes():
		r.add(s.Path(from), s.Key)
	case s.Key == "core.hookspath", s.Key == "init.templatedir":
		r.add(s.Path(r.root), s.Key)
	case external, section == "pager", strings.HasPrefix(value, "!"), line.In(commandKeys, last):
		r.command(strings.TrimPrefix(value, "!"), s.Key, dir, true)
	case strings.HasPrefix(s.Key, "url.ext::"):
		r.command(strings.TrimSuffix(strings.TrimPrefix(s.Key, "url.ext::"), "."+last), s.Key, dir, true)
	case !line.In(dataKeys, last) && !line.In(dataSections, section):
		r.command(value, s.Key, dir, false)
	}
}

// command takes the files that the words of a command name, seen from the root, the directory of git's files or a cd,
// and with dirs their directories.
func (r *references) command(text, by, dir string, dirs bool) {
	for _, from := range []string{r.root, dir} {
		read := line.Parse(text, from, line.Shell{})
		if read.Problem != "" && dirs && from == r.root {
			r.unread = append(r.unread, by)
		}
		seen := []string{from}
		for _, c := range read.Commands {
			if c.Name() == "cd" && len(c.Words) > 1 {
				to := c.Words[1]
				to.Text += "/" // a directory that is not there yet counts too
				seen = append(seen, r.paths(to, from, false)...)
			}
			for i, w := range slices.Concat(modules(c.Words), c.Inputs) {
				for _, at := range seen {
					r.named(r.paths(w, at, i == 0), by, dirs)
				}
			}
		}
	}
}

// named takes paths that a command names. With dirs they may be directories, and the directory of a file counts too.
func (r *references) named(paths []string, by string, dirs bool) {
	for _, path := range paths {
		info, err := os.Stat(path)
		isDir := err == nil && info.IsDir()
		if !isDir || dirs {
			r.add(path, by)
		}
		if parent := filepath.Dir(path); dirs && !isDir && names.Within(r.root, parent) {
			r.add(parent, by)
		}
	}
}

// modules are the words of a command with the files of each Python module that -m names: tools.clean is tools/clean.py,
// or a directory.
func modules(words []line.Word) []line.Word {
	for i := 2; i < len(words); i++ {
		if w := words[i]; words[i-1].Text == "-m" && w.Known {
			for _, end := range []string{".py", "/__main__.py"} {
				words = append(slices.Clip(words), line.Word{Text: strings.ReplaceAll(w.Text, ".", "/") + end,
					Known: true})
			}
			return words
		}
	}
	return words
}

// expanded matches a word up to the end of its last expansion.
var expanded = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^.*(\)|\}|` + "`" + `|\$[A-Za-z_0-9]+)/`)
})

// literal is a word whose expansions stand for the home directory or, whatever they are, for the project's root.
func (r *references) literal(w line.Word) string {
	text := w.Text
	if !w.Known { // "$(git rev-parse --show-toplevel)"/tools/x, $GIT_DIR/../tools/x
		text = strings.NewReplacer(`"`, "", "'", "").Replace(text)
	}
	for _, written := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(text, written); ok {
			return names.InHome("~/"+rest, r.home)
		}
	}
	if w.Known {
		return text
	}
	if at := expanded().FindString(text); at != "" {
		return filepath.Join(r.root, filepath.Clean("/"+text[len(at):]))
	}
	return ""
}

// paths are the paths that a word may name: it has a slash or an extension, or names a file that is there. So may what
// follows an equals sign or an option's letter. first is for the program, which PATH finds.
func (r *references) paths(w line.Word, dir string, first bool) (paths []string) {
	text := r.literal(w)
	maybe := []string{text}
	if line.IsOption(text) {
		maybe = nil
		if len(text) > 2 && text[1] != '-' && strings.Contains(text, "/") {
			maybe = append(maybe, text[2:])
		}
	}
	if _, value, ok := strings.Cut(text, "="); ok {
		maybe = append(maybe, value)
	}
	for _, text := range maybe {
		slash := strings.Contains(text, "/")
		if text == "" || first && !slash {
			continue
		}
		path := line.Command{Dir: dir}.Path(text)
		if info, err := os.Stat(path); slash || filepath.Ext(text) != "" || err == nil && info.Mode().IsRegular() {
			paths = append(paths, path)
		}
	}
	return paths
}

// hookLine matches a line of a hook manager's configuration that has a command.
var hookLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(?:-\s*)?(?:entry|run|command|cmd)\s*:\s*["']?(.+?)["']?\s*$`)
})

// hooks takes the files that the hooks in directories, and the configurations of hook managers, name.
func (r *references) hooks(dirs []string) {
	for _, dir := range append(dirs, filepath.Join(r.root, ".husky")) {
		r.target(dir, "hooks")
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // most projects have none
		}
		for _, e := range entries {
			r.target(filepath.Join(dir, e.Name()), "hook "+e.Name())
			text, err := facts.ReadSome(filepath.Join(dir, e.Name()))
			if err != nil || strings.HasSuffix(e.Name(), ".sample") {
				continue
			}
			if head, _, _ := strings.Cut(text, "\n"); !strings.HasPrefix(head, "#!") || strings.Contains(head, "sh") {
				r.command(text, "hook "+e.Name(), dir, false)
			}
		}
	}
	for _, name := range []string{".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml", ".lefthook.yml", ".lefthook.yaml"} {
		text, err := facts.ReadSome(filepath.Join(r.root, name))
		if err != nil {
			continue
		}
		for _, match := range hookLine().FindAllStringSubmatch(text, -1) {
			r.command(match[1], name, r.root, false)
		}
	}
}

// target takes where a link leads.
func (r *references) target(path, by string) {
	if real := names.Real(path); real != path {
		r.add(real, by)
	}
}

// below is a path relative to the project root where it is in it.
func below(root, path string) string {
	if rel, ok := names.Relative(root, path); ok {
		return rel
	}
	return path
}

// isBare reports whether a path is the HEAD of a directory that git would obey as a bare repository.
func isBare(at string) bool {
	dir := filepath.Dir(at)
	return filepath.Base(at) == "HEAD" && names.Exists(filepath.Join(dir, "objects")) &&
		names.Exists(filepath.Join(dir, "refs"))
}

// bareEntries are the files and directories of a bare repository that git reads.
func bareEntries(dir string) (found []string) {
	for name := range strings.FieldsSeq("HEAD commondir config config.worktree hooks info objects packed-refs refs") {
		if path := filepath.Join(dir, name); names.Exists(path) {
			found = append(found, path)
		}
	}
	return found
}
