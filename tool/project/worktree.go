package project

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
)

// ownWorkTree reports whether the user owns the work tree at top and its git files, or has git accept it by
// safe.directory.
func ownWorkTree(top string) bool {
	dir, _, err := git.Dirs(top)
	if err != nil {
		return false
	}
	if ownedByUser(top) && ownedByUser(filepath.Join(top, ".git")) && ownedByUser(dir) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return git.Run(ctx, os.Environ(), top, top, func(string) error { return nil }, "rev-parse", "--git-dir") == nil
}

// gitDirOutside is the git directory that a work tree at top uses or shares, where it
// lies elsewhere and says so itself: a .git file of a stranger may name any. It knows of a
// linked work tree, names the top as its work tree, as that of a submodule does, or has no
// work tree of its own (git init --separate-git-dir). Else it is "".
func gitDirOutside(top string) string {
	info, err := os.Lstat(filepath.Join(top, ".git"))
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	dir, common, err := git.Dirs(top)
	if err != nil {
		return ""
	}
	if common, err = filepath.EvalSymlinks(common); err != nil || !ownedByUser(common) {
		return ""
	}
	if _, inside := names.Relative(top, common); inside {
		return ""
	}
	back, err := git.ReadSome(filepath.Join(dir, "gitdir"))
	known := git.SeenFrom(dir, strings.TrimRight(back, "\r\n"))
	if err != nil { // it is no linked work tree
		if known = filepath.Join(git.ModuleWorkTree(common), ".git"); !filepath.IsAbs(known) && separateGitDir(common) {
			return common
		}
	}
	if is, err := os.Stat(known); err != nil || !os.SameFile(info, is) {
		return ""
	}
	return common
}

// separateGitDir reports whether a git directory is made for a work tree elsewhere, and
// neither that of the directory around it nor a bare one.
func separateGitDir(dir string) (separate bool) {
	text, err := git.ReadSome(filepath.Join(dir, "config"))
	git.EachSetting(text, func(section, key, value string) {
		if section == "core" && key == "bare" {
			separate = value == "false"
		}
	})
	return separate && err == nil && names.Fold(filepath.Base(dir)) != ".git"
}

// Repository finds the repository that git would work on in dir, wherever its top is: Git is false where there is none.
// The error is for a .git that git may or may not accept.
func Repository(dir string) (Project, error) {
	p, err := projectAt(dir)
	if err != nil {
		return Project{}, err
	}
	for at := range git.LooksIn(p.Dir) {
		switch {
		case git.IsWorkTree(at):
			p.Root, p.Git, p.Common = at, true, gitDirOutside(at)
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
	dir, common, err := git.Dirs(p.Root)
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
