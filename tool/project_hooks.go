package tool

import (
	"os"
	"path/filepath"
	"strings"
)

// OthersRun says in words why git runs or obeys the file at an absolute path
// although no name in it tells: it lies in a directory that core.hooksPath of
// the repository or of the user names, in the directory that work trees share,
// or has a place in a bare repository. "" when it does not. Links in the path
// must be resolved.
func (p Project) OthersRun(path string) string {
	path = filepath.Clean(path)
	if p.Common != "" {
		if _, ok := under(p.Common, path); ok {
			return "it writes into git's directory " + p.Common
		}
	}
	for _, dir := range p.hookDirs() {
		if _, ok := under(FoldName(dir), FoldName(path)); ok {
			return "it writes into " + dir + ", from which git runs hooks (core.hooksPath)"
		}
	}
	for at := path; at != filepath.Dir(at) && at != p.Root; at = filepath.Dir(at) {
		if dir, name := filepath.Dir(at), FoldName(filepath.Base(at)); bareShape(dir, name, at == path) {
			return "git would take " + dir + " for a bare repository and obey what is in it"
		}
	}
	return ""
}

// bareShape reports whether a file of this name, or below it, makes a bare
// repository of dir or changes the one that is there.
func bareShape(dir, name string, file bool) bool {
	switch name {
	case "head":
		return file
	case "config", "objects", "refs", "hooks", "commondir", "info", "config.worktree":
		_, err := os.Lstat(filepath.Join(dir, "HEAD"))
		return err == nil
	}
	return false
}

// hookDirs are the directories that core.hooksPath names.
func (p Project) hookDirs() (dirs []string) {
	var files []string
	if dir, common, err := gitDirs(p.Root); p.Git && err == nil {
		files = append(files, filepath.Join(common, "config"), filepath.Join(dir, "config.worktree"))
	}
	home, _ := os.UserHomeDir() // without one there is no configuration of the user
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"))
	}
	if xdg := os.Getenv("XDG_CONFIG_HOME"); xdg != "" {
		files = append(files, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		files = append(files, filepath.Join(home, ".config", "git", "config"))
	}
	for _, file := range files {
		text, err := readSome(file)
		if err != nil {
			continue // not there, or not one that git reads either
		}
		for _, to := range hooksPaths(text) {
			if rest, ok := strings.CutPrefix(to, "~/"); ok {
				to = filepath.Join(home, rest)
			}
			to = seenFrom(p.Root, to)
			if real, err := filepath.EvalSymlinks(to); err == nil {
				dirs = append(dirs, real)
			}
			dirs = append(dirs, filepath.Clean(to))
		}
	}
	return dirs
}

// hooksPaths are the values of hooksPath in a git configuration, in whatever
// section: too many do no harm.
func hooksPaths(config string) (values []string) {
	for line := range strings.Lines(config) {
		if i := strings.LastIndexByte(line, ']'); i >= 0 && strings.HasPrefix(strings.TrimSpace(line), "[") {
			line = line[i+1:]
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "hookspath") {
			continue
		}
		value = strings.TrimSpace(value)
		if quoted, rest := strings.CutPrefix(value, `"`); rest {
			value, _, _ = strings.Cut(quoted, `"`)
		} else if i := strings.IndexAny(value, "#;"); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		if value != "" {
			values = append(values, value)
		}
	}
	return values
}
