package project

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"artoo/tool/git"
	"artoo/tool/names"
)

// OthersRun says in words why git runs or obeys the file at an absolute path, without
// links, although no name in it tells: it lies in one of the directories of hooks that
// HookFinder found, in the directory that work trees share, or has a place in a bare
// repository. "" when it does not.
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
			return "git would take " + dir + " for a bare repository and obey what is in it"
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
// changed another file that git reads for it. A configuration that is younger than
// settled may change again in the same tick of its file system's clock, one of whole seconds
// always may.
const (
	hooksKept = time.Second
	settled   = 50 * time.Millisecond
)

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
			common = filepath.Join(p.Root, ".git") // which may be made
		}
		// What the file is comes before what git says of it: a change between the two is seen
		// the next time.
		now := names.StampAt(filepath.Join(common, "config"))
		if time.Since(asked) < hooksKept && now == config {
			return dirs
		}
		asked, config, dirs = time.Now(), now, nil
		said, includes, err := askHookDirs(p.Root)
		changed, statErr := names.Changed(filepath.Join(common, "config"))
		if err != nil || includes || statErr == nil && (time.Since(changed) < settled || changed.Nanosecond() == 0) {
			asked = time.Time{}
		}
		for _, to := range said { // as they are written, and without links
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
