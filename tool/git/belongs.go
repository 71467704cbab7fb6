package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ForeignError says why the .git of a work tree leads to files that are not this work tree's own. A stranger's
// archive may name any directory of the user's.
type ForeignError struct {
	Why  string // One clause names what leads where.
	Cure string // It is an imperative.
}

// Error implements error.
func (e *ForeignError) Error() string { return e.Why }

// layout is how the git files of a work tree lie. Paths are absolute.
type layout struct {
	top, dir, common string
	admitted         []string
}

// check returns a *ForeignError unless the git files lie inside the work tree and are no links, or name it back, or
// the user admitted their directory.
func (l layout) check() error {
	dotGit := filepath.Join(l.top, ".git")
	info, err := os.Lstat(dotGit)
	if err != nil {
		return err
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		if !l.admits(dotGit) {
			return l.foreign(l.dir, ".git is a link to %s", real(l.dir))
		}
	case inside(l.top, l.dir) || l.admits(l.dir) || l.namedBack():
	case l.linked():
		return &ForeignError{Cure: "git worktree repair, if this work tree was moved",
			Why: fmt.Sprintf(".git names %s, which belongs to another work tree", l.dir)}
	default:
		return l.foreign(l.dir, ".git names %s, which does not name this directory as its work tree", l.dir)
	}
	if l.linked() && !inside(l.top, l.common) && !l.admits(l.common) && !(l.listed() && l.namedBack()) {
		return l.foreign(l.common, "%s names %s, which does not know this work tree", filepath.Join(l.dir, "commondir"), l.common)
	}
	if other := l.otherTree(); other != "" {
		return &ForeignError{Cure: "git config --unset core.worktree, if this directory is the work tree",
			Why: "git's configuration (core.worktree) names another work tree, " + other}
	}
	for _, at := range slices.Compact([]string{l.dir, l.common}) {
		if err := l.links(at, "", "objects", "objects/info", "objects/pack"); err != nil {
			return err
		}
	}
	for _, store := range Alternates(l.common) {
		if !inside(l.top, store) && !inside(l.common, store) && !l.admits(store) {
			return l.foreign(store, "objects/info/alternates takes objects from %s", store)
		}
	}
	return nil
}

// foreign is the error for a directory that the user could admit.
func (l layout) foreign(dir, format string, args ...any) error {
	return &ForeignError{Why: fmt.Sprintf(format, args...),
		Cure: fmt.Sprintf("[permissions] git_dirs = [%q] in config.toml, if it is yours", real(dir))}
}

// admits reports whether the user admitted a path or a directory above it.
func (l layout) admits(path string) bool {
	path = real(path)
	return slices.ContainsFunc(l.admitted, func(dir string) bool {
		rel, err := filepath.Rel(real(dir), path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// linked reports whether the work tree shares the git directory of another one.
func (l layout) linked() bool { return l.dir != l.common }

// listed reports whether the common directory holds the work tree's own among its work trees.
func (l layout) listed() bool {
	return sameFile(filepath.Dir(real(l.dir)), filepath.Join(l.common, "worktrees"))
}

// namedBack reports whether the git directory names this work tree: that of a linked one in the file gitdir, that of a
// submodule by core.worktree.
func (l layout) namedBack() bool {
	if !l.linked() {
		top := ModuleWorkTree(l.dir)
		return top != "" && sameFile(top, l.top)
	}
	text, err := ReadSome(filepath.Join(l.dir, "gitdir"))
	if err != nil {
		return false
	}
	// The directories are compared: the file may have several names.
	named := SeenFrom(l.dir, strings.TrimRight(text, "\r\n"))
	return filepath.Base(named) == ".git" && sameFile(filepath.Dir(named), l.top)
}

// otherTree is the work tree that the configuration names in place of this one, "" for none. In a linked work tree the
// common configuration does not name one.
func (l layout) otherTree() string {
	var configs []string
	if !l.linked() {
		configs = append(configs, "config")
	}
	if on, _ := setting(filepath.Join(l.common, "config"), "extensions", "worktreeconfig"); isTrue(on) {
		configs = append(configs, "config.worktree")
	}
	for _, name := range configs {
		if to, ok := setting(filepath.Join(l.dir, name), "core", "worktree"); ok {
			if to = SeenFrom(l.dir, to); !sameFile(to, l.top) {
				return to
			}
		}
	}
	return ""
}

// links returns an error for an entry of a git directory, or of one of its subdirectories, that is a link out of it.
func (l layout) links(dir string, subs ...string) error {
	for _, sub := range subs {
		entries, err := os.ReadDir(filepath.Join(dir, sub))
		if err != nil {
			continue // git cannot read it either
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			at := filepath.Join(dir, sub, e.Name())
			if to, err := os.Readlink(at); sub == "" && e.Name() == "HEAD" && err == nil && strings.HasPrefix(to, "refs/") {
				continue // an old form of HEAD
			}
			if sub == "" && e.Name() == "hooks" && inside(l.top, real(at)) {
				continue // a usual way to track hooks; git stores nothing there
			}
			if to := real(at); !inside(dir, to) && !inside(l.common, to) && !l.admits(to) {
				return l.foreign(to, "%s is a link to %s", at, to)
			}
		}
	}
	return nil
}

// Alternates are the object stores that a git directory takes objects from, and those that these take them from, as
// deep as git follows them. A store that is missing counts.
func Alternates(common string) (stores []string) {
	const deepest = 5
	at := []string{filepath.Join(common, "objects")}
	for range deepest {
		var next []string
		for _, objects := range at {
			text, err := ReadSome(filepath.Join(objects, "info", "alternates"))
			if err != nil {
				continue // most have none
			}
			for line := range strings.SplitSeq(text, "\n") {
				if line == "" || line[0] == '#' {
					continue
				}
				if line[0] == '"' {
					line, _ = (&configText{rest: line}).value()
				}
				if store := SeenFrom(objects, line); !slices.Contains(stores, store) {
					stores, next = append(stores, store), append(next, store)
				}
			}
		}
		at = next
	}
	return stores
}

// inside reports whether a path is dir or lies below it, with no link on the way.
func inside(dir, path string) bool {
	top, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := filepath.Clean(path); ; at = filepath.Dir(at) {
		info, err := os.Lstat(at)
		switch {
		case err == nil && os.SameFile(info, top):
			return true
		case err == nil && info.Mode()&os.ModeSymlink != 0, err != nil && !errors.Is(err, os.ErrNotExist), at == filepath.Dir(at):
			return false
		}
	}
}

// real is a path without links; one that leads nowhere stays as it is.
func real(path string) string {
	if to, err := filepath.EvalSymlinks(path); err == nil {
		return to
	}
	return filepath.Clean(path)
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}
