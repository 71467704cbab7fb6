package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

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

// ownedByUser reports whether the file belongs to artoo's user; for root, as for git, also to the caller of sudo.
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

// OthersRun says in words why git runs or obeys the file at an absolute path, without links, although no name in it
// shows that: it lies in one of the directories of hooks that HookFinder found, in the directory that work trees share,
// or has a place in a bare repository. "" when it does not.
func (p Project) OthersRun(path string, hooks []string) string {
	path = filepath.Clean(path)
	if p.Common != "" {
		if _, ok := names.Relative(p.Common, path); ok {
			return "it writes into git's directory " + p.Common
		}
	}
	for _, dir := range hooks {
		if _, ok := names.Relative(names.Fold(dir), names.Fold(path)); ok {
			return "it writes into " + dir + ", from which git runs hooks (core.hooksPath)"
		}
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

// hooksKept is how long an answer of git's on its hooks counts where the repository's own
// configuration stays as it is: meanwhile only the user, or a call that was approved, can have
// changed another file that git reads for it. A configuration younger than a tick of its file
// system's clock may change again unseen, and one with a time in whole seconds always may.
const hooksKept = time.Second

// HookFinder returns a func that lists the directories that core.hooksPath names, in
// whichever file of git's configuration; without git there are none. Git itself is
// asked, for 4 ms, unless it was a moment ago. Any goroutine may call the func.
func (p Project) HookFinder() func() []string {
	var mu sync.Mutex
	var asked time.Time // zero where the answer is not kept
	var config names.Stamp
	var dirs []string
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		_, common, err := git.Dirs(p.Root)
		if err != nil {
			common = filepath.Join(p.Root, ".git") // it may be made
		}
		// The file's stamp is taken before git's answer: a change between the two is seen the next time.
		now := names.StampAt(filepath.Join(common, "config"))
		if time.Since(asked) < hooksKept && now == config {
			return dirs
		}
		asked, config, dirs = time.Now(), now, nil
		said, includes, err := askHookDirs(p.Root)
		changed, statErr := names.Changed(filepath.Join(common, "config"))
		if err != nil || includes || statErr == nil && (time.Since(changed) < names.ClockTick || changed.Nanosecond() == 0) {
			asked = time.Time{}
		}
		for _, to := range said { // each as it is written, and without links
			to = git.SeenFrom(p.Root, to)
			dirs = append(dirs, names.Real(to), filepath.Clean(to))
		}
		return dirs
	}
}

// askHookDirs asks git in root for the values of core.hooksPath, and whether a file of its
// configuration includes others. The error says that git gave no answer.
func askHookDirs(root string) (dirs []string, includes bool, err error) {
	pieces, err := git.UserConfig(nil, root, "--type=path", "--get-regexp", `^(core\.hookspath|include(if\..*)?\.path)$`)
	for _, piece := range pieces {
		if key, value, _ := strings.Cut(piece, "\n"); key == "core.hookspath" {
			dirs = append(dirs, value)
		} else {
			includes = true
		}
	}
	return dirs, includes, err
}

// HooksIn names the hooks that git in dir would run: executable files of the
// repository's own directory of hooks, and of those that core.hooksPath names.
func HooksIn(dir string, hookDirs []string) (hooks []string) {
	p, err := Repository(dir)
	if err != nil || !p.Git {
		return nil
	}
	if _, common, err := git.Dirs(p.Root); err == nil {
		hookDirs = append([]string{filepath.Join(common, "hooks")}, hookDirs...)
	}
	for _, at := range hookDirs {
		entries, err := os.ReadDir(at)
		if err != nil {
			continue // most repositories have none
		}
		for _, e := range entries {
			info, err := e.Info()
			if err == nil && !strings.HasSuffix(e.Name(), ".sample") && info.Mode()&0o111 != 0 && !info.IsDir() &&
				!slices.Contains(hooks, e.Name()) {
				hooks = append(hooks, e.Name())
			}
		}
	}
	return hooks
}

// GitSigns names the program by which git in dir would sign a commit unasked, "" where
// it would sign none or there is no git. environ is the environment that git gets.
func GitSigns(environ []string, dir string) (program string) {
	ctx, cancel := context.WithTimeout(context.Background(), git.Timeout)
	defer cancel()
	settings := map[string]string{}
	take := func(piece string) error {
		key, value, _ := strings.Cut(piece, "\n")
		settings[key] = value
		return nil
	}
	err := git.Run(ctx, environ, dir, dir, take, "config", "--null", "--get-regexp", `^(commit\.gpgsign|gpg\.(format|program))$`)
	if on, parseErr := strconv.ParseBool(settings["commit.gpgsign"]); err != nil || parseErr != nil || !on {
		return "" // git ends 1 where there are no such settings
	}
	if settings["gpg.format"] == "ssh" {
		return "ssh-keygen"
	}
	return cmp.Or(settings["gpg.program"], "gpg")
}
