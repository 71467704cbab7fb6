package git

import (
	"cmp"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
)

// Dirs finds the directory of the work tree's own git files, and the one
// they share with other work trees.
func Dirs(top string) (dir, common string, err error) {
	dir = filepath.Join(top, ".git")
	info, err := os.Stat(dir)
	if err != nil {
		return "", "", err
	}
	if !info.IsDir() {
		text, err := ReadSome(dir)
		if err != nil {
			return "", "", err
		}
		to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
		if !ok {
			return "", "", errors.New(dir + " is not one of git's files")
		}
		dir = SeenFrom(top, to)
	}
	common = dir
	switch text, err := ReadSome(filepath.Join(dir, "commondir")); {
	case err == nil:
		common = SeenFrom(dir, strings.TrimRight(text, "\r\n"))
	case !errors.Is(err, os.ErrNotExist):
		return "", "", err
	}
	return dir, common, nil
}

// SeenFrom is where path leads, seen from dir.
func SeenFrom(dir, path string) string {
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// ReadSome reads a small regular file.
func ReadSome(path string) (string, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", errors.New(path + " is not a file of a usual kind and size")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}

// IsWorkTree reports whether git would take top for the top of a work tree: its
// .git is a directory with the parts of a repository, or a file that names one.
func IsWorkTree(top string) bool {
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return false
	}
	dir, common, err := Dirs(top)
	if err != nil {
		return false
	}
	for _, part := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, part)); err != nil || !info.IsDir() {
			return false
		}
	}
	return namesHead(filepath.Join(dir, "HEAD"))
}

// namesHead reports whether git would take the file for a HEAD: a link into
// refs, "ref: refs/…", or the name of a commit.
func namesHead(path string) bool {
	if to, err := os.Readlink(path); err == nil {
		return strings.HasPrefix(filepath.ToSlash(to), "refs/")
	}
	text, err := ReadSome(path)
	if err != nil {
		return false
	}
	text = strings.TrimRight(text, "\r\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t"), "refs/")
	}
	return len(text) >= 40 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// Top is the nearest work tree of git's at or above dir, "" when there is none.
func Top(dir string) string {
	for at := range LooksIn(dir) {
		if IsWorkTree(at) {
			return at
		}
	}
	return ""
}

// LooksIn yields the directories in which git looks for a .git when it is
// started in dir: dir itself, and the directories above it and below a ceiling that the
// user set by GIT_CEILING_DIRECTORIES. dir is absolute, links resolved.
func LooksIn(dir string) iter.Seq[string] {
	end := ceiling(dir, os.Getenv("GIT_CEILING_DIRECTORIES"))
	return func(yield func(string) bool) {
		for at := dir; at != end && yield(at) && at != filepath.Dir(at); {
			at = filepath.Dir(at)
		}
	}
}

// ceiling is the nearest directory above dir that the value of GIT_CEILING_DIRECTORIES names, "" when it names none. As
// with git, dir itself is no ceiling, relative entries do not count, and those after an empty entry are taken as
// written, their links unresolved.
func ceiling(dir, value string) (nearest string) {
	resolve := true
	for _, entry := range strings.Split(value, string(filepath.ListSeparator)) {
		if entry == "" {
			resolve = false
		}
		if !filepath.IsAbs(entry) {
			continue
		}
		if real, err := filepath.EvalSymlinks(entry); resolve && err == nil {
			entry = real
		}
		entry = strings.TrimSuffix(entry, "/")
		if strings.HasPrefix(dir, entry+"/") && (nearest == "" || len(entry) > len(nearest)) {
			nearest = cmp.Or(entry, "/")
		}
	}
	return nearest
}

// EachSetting calls each for every key of a git configuration, names in lower
// case. A section with a name of its own ([remote "x"]) is passed over.
func EachSetting(config string, each func(section, key, value string)) {
	section := ""
	for line := range strings.Lines(strings.ReplaceAll(config, "\\\n", "")) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			head, rest, ok := strings.Cut(line[1:], "]")
			if !ok {
				continue
			}
			section, line = strings.ToLower(strings.TrimSpace(head)), strings.TrimSpace(rest)
		}
		if line == "" || line[0] == '#' || line[0] == ';' || strings.ContainsAny(section, " \t\"") {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		each(section, strings.ToLower(strings.TrimSpace(key)), gitValue(strings.TrimSpace(value)))
	}
}

// gitValue takes quotes, escapes and a comment off a value.
func gitValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case c == '"':
			quoted = !quoted
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimSpace(b.String())
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// ModuleWorkTree is the work tree that a git directory's own configuration names, as that
// of a submodule does, absolute; "" where it names none.
func ModuleWorkTree(gitDir string) (top string) {
	text, err := ReadSome(filepath.Join(gitDir, "config"))
	if err != nil {
		return ""
	}
	EachSetting(text, func(section, key, value string) {
		if section == "core" && key == "worktree" {
			top = filepath.Clean(SeenFrom(gitDir, value))
		}
	})
	return top
}
