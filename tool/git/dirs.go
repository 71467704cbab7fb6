package git

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/environ"
)

// Dirs finds the directory of the work tree's own git files, and the one they share with other work trees. Those that
// are neither the work tree's own nor in a directory that the user admitted are a *ForeignError.
func Dirs(top string, admitted ...string) (dir, common string, err error) {
	if dir, common, err = NamedDirs(top); err == nil {
		err = layout{top, dir, common, admitted}.check()
	}
	if err != nil {
		return "", "", err
	}
	return dir, common, nil
}

// NamedDirs are the directories that git would work on, whosever they are.
func NamedDirs(top string) (dir, common string, err error) {
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
		if _, err := os.Stat(dir); err != nil {
			return "", "", fmt.Errorf(".git names %s: %w", dir, errors.Unwrap(err))
		}
	}
	common, err = Common(dir)
	return dir, common, err
}

// Common is the directory that a git directory shares with those of other work trees: itself, where there are none.
func Common(dir string) (string, error) {
	text, err := ReadSome(filepath.Join(dir, "commondir"))
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil
	}
	return SeenFrom(dir, strings.TrimRight(text, "\r\n")), err
}

// SeenFrom is where path leads, seen from dir. Behind a link .. leads to where the link's target lies.
func SeenFrom(dir, path string) string {
	path = filepath.FromSlash(path)
	if !filepath.IsAbs(path) {
		path = dir + string(filepath.Separator) + path
	}
	if strings.Contains(path, "..") {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			return real
		}
	}
	return filepath.Clean(path)
}

// ReadSome reads a small regular file.
func ReadSome(path string) (string, error) {
	const most = 1 << 20
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return "", errors.New(path + " is not a regular file of a usual size")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, most))
	return string(data), err
}

// IsWorkTree reports whether top is the top of a work tree: its .git is a directory with the parts of a repository, or
// a file that names one, and they belong to it as Dirs says.
func IsWorkTree(top string, admitted ...string) bool {
	if _, err := os.Lstat(filepath.Join(top, ".git")); err != nil {
		return false
	}
	dir, common, err := Dirs(top, admitted...)
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
	// A file that cannot be read names none.
	text, _ := ReadSome(path)
	text = strings.TrimRight(text, "\r\n")
	if ref, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t"), "refs/")
	}
	return len(text) >= 40 && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}

// Top is the nearest work tree of git's at or above dir, "" when there is none.
func Top(vars environ.Vars, dir string, admitted ...string) string {
	for at := range LooksIn(vars, dir) {
		if IsWorkTree(at, admitted...) {
			return at
		}
	}
	return ""
}

// LooksIn yields the directories in which git looks for a .git when it is
// started in dir: dir itself, and the directories above it and below a ceiling that the
// user set by GIT_CEILING_DIRECTORIES. dir is absolute, links resolved.
func LooksIn(vars environ.Vars, dir string) iter.Seq[string] {
	end := ceiling(dir, vars.Get("GIT_CEILING_DIRECTORIES"))
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

// ModuleWorkTree is the work tree that a git directory's own configuration names, as that
// of a submodule does, absolute; "" where it names none.
func ModuleWorkTree(gitDir string) string {
	if to, ok := setting(filepath.Join(gitDir, "config"), "core", "worktree"); ok {
		return SeenFrom(gitDir, to)
	}
	return ""
}
