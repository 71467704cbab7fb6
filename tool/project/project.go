// Package project finds the project that artoo works in, and reports facts about its git
// repository. Programs that the repository names are never run.
package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/text"
)

// Project is where the tools are at home.
type Project struct {
	Root string // absolute, links resolved
	Dir  string // the working directory, absolute, links resolved
	Git  bool   // Root has a .git, and git's files belong to it
	// Common is the directory of git's files, absolute, where it lies outside Root: that of
	// a submodule or a separate one, or the one that a linked work tree shares with others; else "".
	Common string
	// GitDirs are the directories of git files that the user admitted, absolute.
	GitDirs []string
	// Environ are artoo's own variables: git gets them, and is looked up by them.
	Environ environ.Vars
	// Stores are the object stores outside Root and Common that git takes objects from, absolute.
	Stores []string
	// NoGit says why the nearest .git makes no repository here; nil where it does, or where there is no .git.
	NoGit error
	// None says why there is no project to speak of: "/", the home directory or a directory above it. "" otherwise.
	None string
}

// Find finds the project that dir belongs to: the nearest ancestor with a .git, where that makes it the top of a work
// tree and the user's own, else dir itself. dir is absolute. The home directory and its ancestors are no project. gitDirs
// are the directories of git files that the user admitted.
func Find(dir string, vars environ.Vars, gitDirs ...string) (Project, error) {
	p, err := projectAt(dir, vars, gitDirs)
	if err != nil {
		return p, err
	}
	home := vars.Home()
	if home != "" {
		home = names.Real(home)
	}
	for at := range git.LooksIn(vars, p.Dir) {
		if aboveProjects(at, home) {
			break
		}
		if !names.Exists(filepath.Join(at, ".git")) {
			continue
		}
		// What is further up is not the project of a user who works here.
		if p.NoGit = p.accepts(at); p.NoGit == nil {
			p.at(at)
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
	}
	return p, nil
}

// at makes top the root of the project and its repository.
func (p *Project) at(top string) {
	p.Root, p.Git = top, true
	if _, common, err := git.Dirs(top, p.GitDirs...); err == nil {
		if common = names.Real(common); !names.Within(top, common) {
			p.Common = common
		}
		for _, store := range git.Alternates(common) {
			if store = names.Real(store); !names.Within(top, store) && !names.Within(common, store) {
				p.Stores = append(p.Stores, store)
			}
		}
	}
}

// accepts returns an error unless the .git at top makes it the top of a work tree that the user owns.
func (p Project) accepts(top string) error {
	if _, _, err := git.Dirs(top, p.GitDirs...); err != nil {
		return err
	}
	if !git.IsWorkTree(top, p.GitDirs...) {
		return errors.New(".git lacks HEAD, objects or refs, or git cannot read them")
	}
	return p.ownWorkTree(top)
}

// projectAt is the project of a directory that belongs to no other.
func projectAt(dir string, vars environ.Vars, gitDirs []string) (p Project, err error) {
	dir, err = filepath.EvalSymlinks(dir)
	return Project{Root: dir, Dir: dir, Environ: vars, GitDirs: gitDirs}, err
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
	const top = string(filepath.Separator)
	var leads func(path, above string, links int) bool
	leads = func(path, above string, links int) bool {
		for at := filepath.Clean(path); at != above; at = filepath.Dir(at) {
			real := names.Real(at)
			if slices.ContainsFunc(roots, func(root string) bool { _, in := names.Relative(root, real); return in }) {
				return true
			}
			if to, err := os.Readlink(at); err == nil && links > 0 {
				if !filepath.IsAbs(to) {
					to = filepath.Join(names.Real(filepath.Dir(at)), to)
				}
				if leads(to, top, links-1) {
					return true
				}
			}
		}
		return false
	}
	holds := func(dir string) bool {
		return slices.ContainsFunc(programs, func(name string) bool { return leads(dir+top+name, dir, mostLinks) })
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || leads(dir, top, mostLinks) || holds(filepath.Clean(dir)) {
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
	err = git.Run(ctx, p.Environ, environ, p.Root, p.Root, func(name string) error {
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
	dir, common, err := git.Dirs(p.Root, p.GitDirs...)
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

// ownWorkTree returns an error unless the user owns the work tree at top and its git files, or has git accept it by
// safe.directory.
func (p Project) ownWorkTree(top string) error {
	dir, common, err := git.Dirs(top, p.GitDirs...)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc([]string{top, filepath.Join(top, ".git"), dir, common}, func(at string) bool { return !ownedByUser(at, p.Environ) }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), git.Timeout)
	defer cancel()
	err = git.Run(ctx, p.Environ, p.Environ, top, top, func(string) error { return nil }, "rev-parse", "--is-inside-work-tree")
	if err != nil {
		return &git.ForeignError{Why: err.Error(), Cure: "git config --global --add safe.directory " + top}
	}
	return nil
}

// GitProblem is why the nearest .git makes no repository here, in one line, and the imperative that fixes it: "" for
// none, or none that is known.
func (p Project) GitProblem() (why, cure string) {
	if p.NoGit == nil {
		return "", ""
	}
	if foreign, ok := errors.AsType[*git.ForeignError](p.NoGit); ok {
		cure = foreign.Cure
	}
	return text.FirstLine(p.NoGit.Error()), cure
}

// CheckGit returns an error of git's, in its own words, where it cannot read the index or the commit of the project's
// repository.
func (p Project) CheckGit(ctx context.Context) error {
	if !p.Git {
		return p.NoGit
	}
	ctx, cancel := context.WithTimeout(ctx, git.Timeout)
	defer cancel()
	nothing := func(string) error { return nil }
	err := git.Run(ctx, p.Environ, p.Environ, p.Root, p.Root, nothing, "ls-files", "-z")
	if head, _ := p.Head(); err == nil && (!strings.HasPrefix(head, "refs/") || strings.Contains(head, " ")) {
		err = git.Run(ctx, p.Environ, p.Environ, p.Root, p.Root, nothing, "ls-tree", "-r", "-z", "--name-only", "HEAD")
	}
	return err
}

// Repository finds the repository that git would work on in dir, wherever its top is: Git is false where there is none.
// The error is for a .git that git may or may not accept; with a *git.ForeignError comes the project as git sees it.
func Repository(dir string, vars environ.Vars, gitDirs ...string) (Project, error) {
	p, err := projectAt(dir, vars, gitDirs)
	if err != nil {
		return Project{}, err
	}
	for at := range git.LooksIn(vars, p.Dir) {
		_, _, err := git.Dirs(at, gitDirs...)
		if _, foreign := errors.AsType[*git.ForeignError](err); foreign {
			return Project{Root: at, Dir: p.Dir, Environ: vars, Git: true}, err
		}
		switch {
		case git.IsWorkTree(at, gitDirs...):
			p.at(at)
			return p, nil
		case !surelyNone(at):
			return Project{}, fmt.Errorf("git's view of %s is unknown", filepath.Join(at, ".git"))
		}
	}
	return p, nil
}

// surelyNone reports whether git ignores the .git at top: no .git, or a directory without HEAD.
func surelyNone(top string) bool {
	git := filepath.Join(top, ".git")
	info, err := os.Lstat(git)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	if !info.IsDir() {
		return false
	}
	_, err = os.Lstat(filepath.Join(git, "HEAD"))
	return errors.Is(err, fs.ErrNotExist)
}

// WithinGrants returns an error when git would show files from outside the
// granted directories: the work tree's top, or the directory of its git files,
// lies elsewhere.
func (p Project) WithinGrants(f *files.Files) error {
	if !p.Git {
		return nil
	}
	dir, common, err := git.Dirs(p.Root, p.GitDirs...)
	if err != nil {
		return err
	}
	for _, at := range []string{p.Root, dir, common} {
		if place, err := f.Resolve(at, false); err != nil {
			return err
		} else if place.Outside {
			return fmt.Errorf("git works on %s here, which is outside the project", at)
		}
	}
	return nil
}

// LookupError is why artoo could not find out what git would do: git, or the file system, refused.
type LookupError struct{ Err error }

// Error implements error.
func (e *LookupError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *LookupError) Unwrap() error { return e.Err }

// deepestModule is how many repositories within repositories are looked at.
const deepestModule = 4

// GitRuns returns an error when git in the project's working directory would
// run programs that the repository's own configuration names: file system
// monitors, external diffs, filters, hooks; also that of repositories within
// it, which git enters. A repository that came from elsewhere could run
// anything through them. The user's own configuration is the user's affair.
// The policy asks before a git command runs unasked. A *LookupError says that it could not be found out.
func (p Project) GitRuns() error {
	for at := p.Dir; ; at = filepath.Dir(at) {
		// git takes a directory that looks like a bare repository for one.
		if _, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil {
			return errors.New(at + " looks like a bare repository, whose configuration git would use")
		}
		if at == p.Root || at == filepath.Dir(at) {
			break
		}
	}
	if !p.Git {
		return nil
	}
	return p.workTreeRuns(p.Root, 0)
}

// workTreeRuns is GitRuns for the work tree at top.
func (p Project) workTreeRuns(top string, depth int) error {
	if depth > deepestModule {
		return errors.New("repositories are nested too deeply to be checked")
	}
	dir, common, err := git.NamedDirs(top) // those of a stranger, too, can name programs
	if err != nil {
		return &LookupError{err}
	}
	if err := leadsOut(common); err != nil {
		return err
	}
	for _, path := range []string{filepath.Join(common, "config"), filepath.Join(dir, "config.worktree")} {
		data, err := git.ReadSome(path)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return &LookupError{err}
		}
		if key := runningKey(data, git.ModuleWorkTree(common) == top); key != "" {
			return fmt.Errorf("the repository's own %s sets %s, which can run programs or read elsewhere",
				filepath.Base(path), key)
		}
	}
	// The one hook that commands which only look may run.
	if info, err := os.Stat(filepath.Join(common, "hooks", "post-index-change")); err == nil && !info.IsDir() {
		return errors.New("the repository has a hook that git status runs (post-index-change)")
	}
	if _, _, err := git.Dirs(top, p.GitDirs...); err != nil {
		return &LookupError{err} // git would show files from elsewhere
	}
	if _, err := p.Environ.LookPath("git"); err == nil && git.WithoutModules(dir) {
		return nil
	}
	var found error
	err = git.EachIndexed(p.Environ, top, func(name string, module bool) error {
		if !module {
			return nil
		}
		inner := filepath.Join(top, filepath.FromSlash(name))
		if _, err := os.Lstat(filepath.Join(inner, ".git")); err != nil {
			return nil // not checked out: git does not enter it
		}
		if err := p.workTreeRuns(inner, depth+1); err != nil {
			found = fmt.Errorf("the repository within, %s: %w", name, err)
		}
		return found
	})
	if found == nil && err != nil {
		return &LookupError{err}
	}
	return found
}

// GitDir is the directory of the work tree's own git files, absolute; "" without git.
func (p Project) GitDir() string {
	dir, _, _ := git.Dirs(p.Root, p.GitDirs...)
	return dir
}

// runningKey finds a section or key of a git configuration that names a program
// or a place elsewhere, or brings in another file. It errs on the side of
// finding one. ownTree says that the work tree it names is the one it belongs to.
func runningKey(config string, ownTree bool) string {
	for line := range strings.Lines(strings.ToLower(config)) {
		line = strings.TrimSpace(line)
		for _, section := range []string{"[include", "[filter", "[mailmap", "[man", "[help", "[browser", "[web"} {
			if strings.Contains(line, section) { // several may stand in one line
				return strings.TrimPrefix(section, "[")
			}
		}
		for strings.HasPrefix(line, "[") {
			_, after, ok := strings.Cut(line, "]")
			if !ok {
				break
			}
			line = strings.TrimSpace(after)
		}
		key, _, _ := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if key == "worktree" && !ownTree {
			return key
		}
		for _, word := range []string{"fsmonitor", "textconv", "external", "command", "pager", "program",
			"hookspath", "askpass",
			"editor", "driver", "uploadpack", "revsfile", "showsignature", "attributesfile", "orderfile", "promisor",
			"partialclone"} { // also partialclonefilter
			if strings.Contains(key, word) {
				return key
			}
		}
		if key == "cmd" || strings.HasPrefix(key, "cmd ") || strings.Contains(line, "%g") {
			return key // a program, or a format that asks one
		}
	}
	return ""
}

// ownedByUser reports whether the file belongs to artoo's user; for root, as for git, also to the caller of sudo.
func ownedByUser(path string, vars environ.Vars) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	user := os.Geteuid()
	if id, err := strconv.ParseUint(vars.Get("SUDO_UID"), 10, 32); user == 0 && err == nil && uint32(id) == stat.Uid {
		return true
	}
	return uint64(stat.Uid) == uint64(user)
}

// OthersRun says in words why git runs or obeys the file at an absolute path, without links, although no name in it
// shows that: it lies in the directory that work trees share, or has a place in a bare repository. "" when it does not.
func (p Project) OthersRun(path string) string {
	path = filepath.Clean(path)
	if _, ok := names.Relative(p.Common, path); ok && p.Common != "" {
		return "it writes into git's directory " + p.Common
	}
	for at := path; at != p.Root; {
		end := strings.LastIndexByte(at, filepath.Separator)
		if end < 1 {
			break
		}
		if dir, name := at[:end], names.Fold(at[end+1:]); bareShape(dir, name, at == path) {
			return "git would take " + dir + " for a bare repository and obey its files"
		}
		at = at[:end]
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

// GitSigns names the program by which git in dir would sign a commit unasked, "" where
// it would sign none or there is no git. own are artoo's variables, environ is the environment that git gets.
func GitSigns(own environ.Vars, environ []string, dir string) (program string) {
	ctx, cancel := context.WithTimeout(context.Background(), git.Timeout)
	defer cancel()
	settings := map[string]string{}
	take := func(piece string) error {
		key, value, _ := strings.Cut(piece, "\n")
		settings[key] = value
		return nil
	}
	err := git.Run(ctx, own, environ, dir, dir, take, "config", "--null", "--get-regexp", `^(commit\.gpgsign|gpg\.(format|program))$`)
	if on, parseErr := strconv.ParseBool(settings["commit.gpgsign"]); err != nil || parseErr != nil || !on {
		return "" // git ends 1 where there are no such settings
	}
	if settings["gpg.format"] == "ssh" {
		return "ssh-keygen"
	}
	return cmp.Or(settings["gpg.program"], "gpg")
}

// ProgramOf says why the program that commands with this environment would find by this name is not one of
// the system's: it lies in the project at root, or in a directory that depends on where the command runs.
// A program that is not found gives no reason.
func ProgramOf(environment []string, root, name string) error {
	for _, dir := range filepath.SplitList(environ.Vars(environment).Get("PATH")) {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("PATH has %q, so which program %s means depends on the directory", dir, name)
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		for _, at := range []string{path, real} {
			if _, inside := names.Relative(root, at); inside {
				return fmt.Errorf("%s is a program of the project, %s", name, at)
			}
		}
		return nil
	}
	return nil
}
