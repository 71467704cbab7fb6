package agent

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
)

// notFound is the status with which shells say that there is no such program.
const notFound = 127

// mostHidden bounds the hidden paths that are named.
const mostHidden = 3

// hiddenTracked lists the hidden files that git tracks in the project, absolute.
func (s *session) hiddenTracked() []string {
	w := s.opt.Workspace
	if w == nil || w.unseen == nil {
		return nil
	}
	hidden, err := s.opt.Policy.World.Denied()
	if err != nil {
		return nil
	}
	return w.unseen.Tracked(hidden, []string{w.Project.Root})
}

// isHidden reports whether commands cannot see an absolute path of the project, or could not if it were there.
func (s *session) isHidden() func(path string) bool {
	files := s.opt.Env.Files
	if files == nil {
		return func(string) bool { return false }
	}
	hidden := sync.OnceValue(func() []string {
		list, err := s.opt.Policy.World.Denied()
		if err != nil {
			return []string{s.opt.Policy.Root} // Each path may be one, so none lands.
		}
		return list
	})
	return func(path string) bool {
		return files.DeniedName(path) || slices.ContainsFunc(hidden(), func(at string) bool { return names.Within(at, path) })
	}
}

// brings has the journal hold the hidden files of which git brings other versions.
func (s *session) brings(g *gitEffects) {
	for path, version := range g.hidden {
		if w := s.opt.Workspace; w != nil && w.unseen != nil && !version.Stays {
			w.unseen.brought.Store(path, true)
		}
	}
}

// unseen are the files of a project that commands cannot see, and that git tracks.
type unseen struct {
	git.Unseen
	brought sync.Map // Git has brought other versions of those at these paths.
}

// openHidden opens a hidden file of the project, and notes what it is before the landing.
func (g *gitEffects) openHidden(path string) (io.ReadCloser, fs.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, 0, err
	}
	var st unix.Stat_t
	info, err := f.Stat()
	if err = cmp.Or(err, unix.Fstat(int(f.Fd()), &st)); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	g.before[path] = sandbox.Before{Mode: info.Mode(), Size: info.Size(), Inode: st.Ino, Changed: time.Unix(st.Ctim.Unix())}
	return f, info.Mode(), nil
}

// bring notes what git makes of hidden files in the work tree at top, with a row for each that it changes.
func (g *gitEffects) bring(top string, found map[string]repo.Version, guarded func(path string) bool, shown func(paths []string) []string) {
	for _, name := range slices.Sorted(maps.Keys(found)) {
		version, path := found[name], filepath.Join(top, filepath.FromSlash(name))
		if g.hidden[path] = version; version.Stays {
			continue
		}
		before := g.before[path]
		change := sandbox.Change{Path: path, Dir: top, Kind: sandbox.Modified, Mode: version.Mode, Before: before}
		class, does := permission.Content, "git brings another version of it"
		switch {
		case version.File == "":
			change.Kind, change.Mode, does = sandbox.Deleted, before.Mode, "git deletes it"
		case !before.Exists():
			change.Kind = sandbox.Created
		default: // A file for its owner alone stays so.
			change.Mode = before.Mode&^0o111 | version.Mode&0o111&(before.Mode>>2)
		}
		if info, err := os.Stat(version.File); err == nil {
			change.Size = info.Size()
		}
		if change.Kind != sandbox.Deleted && guarded(path) {
			class = permission.Guarded
		}
		g.rows = append(g.rows, permission.GitRow{Class: class, Text: shown([]string{path})[0] + ", which is hidden here: " + does, Files: []sandbox.Change{change}})
	}
}

// versions are a line's changes, with git's versions of hidden files in place of those that the line left.
type versions struct {
	confine.Changes
	hidden map[string]repo.Version
}

func (v versions) Stays() []string {
	return slices.DeleteFunc(slices.Clone(v.Changes.Stays()), func(path string) bool { _, known := v.hidden[path]; return known })
}

func (v versions) Open(path string) (*os.File, error) {
	if version, known := v.hidden[path]; known {
		return os.Open(version.File)
	}
	return v.Changes.Open(path)
}

func (v versions) Path(path string) string {
	if _, known := v.hidden[path]; known {
		return ""
	}
	return v.Changes.Path(path)
}

// hiddenFrom names files that a command in dir could not see: those of other places in its line; where it
// failed also files of the project and of the end of its output; the program that was not found,
// else links beside it.
func (s *session) hiddenFrom(confined confine.Confined, dir, line, output string, failed bool) (said []string) {
	variable := environ.Vars(s.opt.Env.Environ).Get
	home, path := variable("HOME"), filepath.SplitList(variable("PATH"))
	missed := confined.Exit().Code == notFound
	programs, paths := map[string]bool{}, map[string]bool{}
	look := func(text string) {
		if home != "" {
			text = strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(text)
		}
		for word := range builtin.Words(text) {
			if missed && !strings.Contains(word, "/") && !programs[word] {
				programs[word] = true
				if at := hiddenProgram(confined, path, word); at != "" {
					said = append(said, word+" is hidden here; [permissions] toolchains or ARTOO_TOOLCHAINS shows its directory "+at)
				}
			}
			if word = names.InHome(word, home); !filepath.IsAbs(word) {
				word = filepath.Join(dir, word)
			}
			word = filepath.Clean(word)
			inside, err := filepath.Rel(s.opt.Policy.Root, word)
			if paths[word] || len(said) >= mostHidden || !failed && err == nil && filepath.IsLocal(inside) {
				continue
			}
			if paths[word] = true; confined.Hides(word) {
				said = append(said, s.pathShown(word, home)+" is hidden here")
			}
		}
	}
	look(line)
	if failed {
		look(output[max(0, len(output)-builtin.Heard):])
	}
	if missed && len(said) == 0 { // it may lie where a link leads, as node_modules may be one
		for _, dir := range slices.Compact([]string{dir, s.opt.Policy.Root}) {
			entries, _ := os.ReadDir(dir) // A directory that cannot be listed gives no hint.
			for _, entry := range entries {
				at := filepath.Join(dir, entry.Name())
				if entry.Type()&os.ModeSymlink != 0 && len(said) < mostHidden && confined.Hides(at) {
					said = append(said, s.pathShown(at, home)+" is hidden here")
				}
			}
		}
	}
	return said
}

// pathShown is a path as the user knows it.
func (s *session) pathShown(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return s.masked("~/" + rel)
	}
	return s.namesOf([]string{path})[0]
}

// hiddenProgram is the directory that would show a program of PATH; "" where none is hidden.
func hiddenProgram(c confine.Confined, path []string, name string) (hidden string) {
	for _, dir := range path {
		at := filepath.Join(dir, name)
		if !executable(at) {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err == nil && !c.Hides(at):
			return ""
		case hidden == "" && c.Hides(dir):
			hidden = dir
		case hidden == "" && err == nil:
			hidden = filepath.Dir(real)
		}
	}
	return hidden
}
