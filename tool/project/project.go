// Package project finds the project that artoo works in, and reports facts about its git
// repository. Programs that the repository names are never run.
package project

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
	"artoo/tool/names"
)

// Project is where the tools are at home.
type Project struct {
	Root string // absolute, links resolved
	Dir  string // the working directory, absolute, links resolved
	Git  bool   // Root has a .git
	// Common is the directory of git's files, absolute, where it lies outside Root: that of
	// a submodule or a separate one, or what a linked work tree shares with others; else "".
	Common string
	// None says why there is no project to speak of: "/", the home directory or
	// what lies above it, or root outside a container. "" otherwise.
	None string
}

// Find finds the project that dir belongs to: the nearest ancestor that
// is the top of a work tree, as git would take it, and the user's own, else dir
// itself. home may be ""; it and what lies above it are no project. superuser
// says that the process runs as root; a container is where that is usual.
func Find(dir, home string, superuser bool) (Project, error) {
	p, err := projectAt(dir)
	if err != nil {
		return p, err
	}
	if home != "" {
		home = names.Real(home)
	}
	for at := range git.LooksIn(p.Dir) {
		if aboveProjects(at, home) {
			break
		}
		if !git.IsWorkTree(at) {
			continue
		}
		// One of another user is not entered, as git does not, and nothing
		// further up is meant by who works in it.
		if ownWorkTree(at) {
			p.Root, p.Git = at, true
			p.Common = gitDirOutside(at)
		}
		break
	}
	switch {
	case p.Root == filepath.Dir(p.Root):
		p.None = "this is the root of the file system"
	case p.Root == home:
		p.None = "this is the home directory"
	case aboveProjects(p.Root, home):
		p.None = "this is above the home directory"
	case superuser && !inContainer():
		p.None = "artoo runs as root"
	}
	return p, nil
}

// projectAt is the project of a directory that belongs to no other.
func projectAt(dir string) (p Project, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return p, err
	}
	dir, err = filepath.EvalSymlinks(dir)
	return Project{Root: dir, Dir: dir}, err
}

// mostLinks is how many links, one after another, HostPath follows.
const mostLinks = 8

// HostPath is the part of a PATH in which artoo looks for programs that it starts itself
// on the host, and the directories that are left out: relative ones, and those that, or in
// which one of programs, lead into or through the project or one of writable, where
// commands may write. A home directory is no project.
func (p Project) HostPath(path, home string, writable, programs []string) (kept string, left []string) {
	var roots, dirs []string
	if !aboveProjects(p.Root, names.Real(home)) {
		roots = append(roots, p.Root)
	}
	for _, dir := range writable {
		roots = append(roots, names.Real(dir))
	}
	var leads func(path string, links int) bool
	leads = func(path string, links int) bool {
		for at := filepath.Clean(path); ; at = filepath.Dir(at) {
			real := names.Real(at)
			if slices.ContainsFunc(roots, func(root string) bool { _, in := names.Relative(root, real); return in }) {
				return true
			}
			if to, err := os.Readlink(at); err == nil && links > 0 {
				if !filepath.IsAbs(to) {
					to = filepath.Join(names.Real(filepath.Dir(at)), to)
				}
				if leads(to, links-1) {
					return true
				}
			}
			if at == filepath.Dir(at) {
				return false
			}
		}
	}
	holds := func(dir string) bool {
		return slices.ContainsFunc(programs, func(name string) bool { return leads(filepath.Join(dir, name), mostLinks) })
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || leads(dir, mostLinks) || holds(dir) {
			left = append(left, dir)
		} else {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, string(filepath.ListSeparator)), left
}

// AboveProjects reports whether a directory can never be a project or an added one, however
// it is spelled: the root of the file system, the home directory and what lies above it.
func AboveProjects(dir, home string) bool { return aboveProjects(names.Real(dir), names.Real(home)) }

// Within reports whether path is dir or below it, however the two are spelled.
func Within(dir, path string) bool {
	_, in := names.Relative(names.Fold(names.Real(dir)), names.Fold(names.Real(path)))
	return in
}

// aboveProjects is AboveProjects of paths without links.
func aboveProjects(dir, home string) bool {
	if dir == filepath.Dir(dir) {
		return true
	}
	_, above := names.Relative(dir, home)
	return home != "" && above
}

// inContainer looks for the marks container engines leave. Reading them needs
// no rights.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// Branch is the branch that is checked out, "" where HEAD names none, or there is no git. It
// runs nothing.
func (p Project) Branch() string {
	head, _ := p.Head()
	ref, _, _ := strings.Cut(head, " ")
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return ""
	}
	return branch
}
