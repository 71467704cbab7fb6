package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
)

// deepestModule is how many repositories within repositories are looked at.
const deepestModule = 4

// GitRuns returns an error when git in the project's working directory would
// run programs that the repository's own configuration names: file system
// monitors, external diffs, filters, hooks; also that of repositories within
// it, which git enters. A repository that came from elsewhere could run
// anything through them. The user's own configuration is the user's affair.
// The policy asks before a git command runs unasked.
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
	return workTreeRuns(p.Root, 0)
}

// secretHere reports whether a name within the project is on the deny list.
func (p Project) secretHere(name string) bool {
	folded := names.Fold(name)
	return files.SecretName(folded, filepath.ToSlash(names.Fold(p.Root))+"/"+folded) != ""
}

// workTreeRuns is GitRuns for the work tree at top.
func workTreeRuns(top string, depth int) error {
	if depth > deepestModule {
		return errors.New("the repositories within repositories go too deep to be looked at")
	}
	dir, common, err := git.Dirs(top)
	if err != nil {
		return err
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
			return err
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
	return git.EachIndexed(top, func(name string, module bool) error {
		if !module {
			return nil
		}
		inner := filepath.Join(top, filepath.FromSlash(name))
		if _, err := os.Lstat(filepath.Join(inner, ".git")); err != nil {
			return nil // not checked out: git does not enter it
		}
		if err := workTreeRuns(inner, depth+1); err != nil {
			return fmt.Errorf("the repository within, %s: %w", name, err)
		}
		return nil
	})
}

// ObjectStore is the directory in which git keeps the contents of the project's
// files, absolute.
func (p Project) ObjectStore() (string, error) {
	_, common, err := git.Dirs(p.Root)
	return filepath.Join(common, "objects"), err
}

// GitDir is the directory of the work tree's own git files, absolute; "" without git.
func (p Project) GitDir() string {
	dir, _, err := git.Dirs(p.Root)
	if err != nil {
		return ""
	}
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

// ownedByUser reports whether the file belongs to who runs artoo; for root, as
// for git, also to who called sudo.
func ownedByUser(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	user := os.Geteuid()
	if user == 0 {
		if id, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && uint32(id) == stat.Uid {
			return true
		}
	}
	return uint64(stat.Uid) == uint64(user)
}
