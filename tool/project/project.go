// Package project finds the project that artoo works in, and reports facts about its git
// repository. Programs that the repository names are never run.
package project

import (
	"context"
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
	// a submodule or a separate one, or the one that a linked work tree shares with others; else "".
	Common string
	// None says why there is no project to speak of: "/", the home directory or a directory above it, or root outside a
	// container. "" otherwise.
	None string
}

// Find finds the project that dir belongs to: the nearest ancestor that is the top of a work tree, as git
// would take it, and the user's own, else dir itself. home may be ""; it and its ancestors are no project.
// superuser says that the process runs as root; a container is where that is usual.
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
		// One of another user is not entered, as git does not, and nothing further up is the project of a user who
		// works in it.
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
// it is spelled: the root of the file system, the home directory and its ancestors.
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

// Ignored lists the paths git ignores in the project's work tree, relative to its root with slashes; a
// directory, of which all is ignored, ends in a slash. It is empty where git would run programs of the
// repository's. environ is the environment git gets.
func (p Project) Ignored(ctx context.Context, environ []string) (paths []string, err error) {
	if !p.Git || p.GitRuns() != nil {
		return nil, nil
	}
	err = git.Run(ctx, environ, p.Root, p.Root, func(name string) error {
		paths = append(paths, name)
		return nil
	}, "ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
	return paths, err
}

// underWay are the files and directories in a repository's directory that show the operation under way in it.
var underWay = []struct{ name, what string }{
	{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
	{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
}

// Head says where the project's repository stands, as the branch and the commit,
// and the operation under way in it, "" for none. It runs nothing; both are "" where
// there is no repository that can be read.
func (p Project) Head() (head, busy string) {
	if !p.Git {
		return "", ""
	}
	dir, common, err := git.Dirs(p.Root)
	if err != nil {
		return "", ""
	}
	for _, w := range underWay {
		if _, err := os.Lstat(filepath.Join(dir, w.name)); err == nil {
			busy = w.what
			break
		}
	}
	data, err := git.ReadSome(filepath.Join(dir, "HEAD"))
	if err != nil {
		return "", busy
	}
	head = strings.TrimSpace(string(data))
	ref, ok := strings.CutPrefix(head, "ref: ")
	if !ok {
		return head, busy
	}
	if data, err := git.ReadSome(filepath.Join(common, filepath.FromSlash(ref))); err == nil {
		return ref + " " + strings.TrimSpace(string(data)), busy
	}
	data, err = git.ReadSome(filepath.Join(common, "packed-refs"))
	if err == nil {
		for line := range strings.Lines(string(data)) {
			if commit, name, _ := strings.Cut(strings.TrimSpace(line), " "); name == ref {
				return ref + " " + commit, busy
			}
		}
	}
	return ref, busy
}

// GitData reports whether a path, with slashes, is data in a .git that git reads and checks, not a file it runs or
// obeys: its objects, refs, index and logs.
func GitData(path string) bool {
	_, rest, ok := SplitGit(path)
	if !ok {
		return false
	}
	for _, data := range []string{"objects", "refs", "logs"} {
		if rest == data || strings.HasPrefix(rest, data+"/") {
			return true
		}
	}
	return rest == "" || strings.Contains(" HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD index ORIG_HEAD FETCH_HEAD "+
		"COMMIT_EDITMSG packed-refs ", " "+rest+" ")
}

// SplitGit parts a path behind its first element .git, in whatever case.
func SplitGit(path string) (dir, rest string, ok bool) {
	parts := strings.Split(path, "/")
	i := slices.IndexFunc(parts, func(part string) bool { return names.Fold(part) == ".git" })
	if i < 0 {
		return "", "", false
	}
	return strings.Join(parts[:i+1], "/"), strings.Join(parts[i+1:], "/"), true
}
