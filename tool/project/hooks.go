package project

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/tool/git"
	"artoo/tool/names"
)

// OthersRun returns a func that says in words why git runs or obeys the file at an
// absolute path although no name in it tells: it lies in a directory that
// core.hooksPath of the repository or of the user names now, in the directory that
// work trees share, or has a place in a bare repository. "" when it does not. Links
// in the path must be resolved. Of hookDirs, which HookFinder returned, the answer is
// the one of now, for as many paths as there are.
func (p Project) OthersRun(hookDirs func() []string) func(path string) string {
	hooks := hookDirs()
	return func(path string) string { return p.othersRun(filepath.Clean(path), hooks) }
}

func (p Project) othersRun(path string, hooks []string) string {
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
	for at := filepath.Clean(path); at != p.Root; {
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

// HookFinder returns a func that lists the directories that core.hooksPath names, in
// whichever file of git's configuration; without git there are none. Git itself is
// asked, for 4 ms, since the answer must not be an old one, but only where something
// that git reads for its answer has changed. Any goroutine may call the func.
func (p Project) HookFinder() func() []string {
	// Git may have been built to read a file of the system's that is not among those
	// that are looked at: so no answer counts for long.
	f := &hookFinder{root: p.Root, environ: os.Environ(), ask: askHookDirs, atMost: time.Second}
	return func() []string { return p.hookDirs(f.find()) }
}

// hookDirs are the directories of the values that git told, as they are written and
// without links.
func (p Project) hookDirs(values []string) (dirs []string) {
	for _, to := range values {
		to = git.SeenFrom(p.Root, to)
		if real, err := filepath.EvalSymlinks(to); err == nil {
			dirs = append(dirs, real)
		}
		dirs = append(dirs, filepath.Clean(to))
	}
	return dirs
}

// hooksSaid is an answer of git's.
type hooksSaid struct {
	dirs     []string // the values of core.hooksPath
	from     []string // the files that hold them
	includes bool     // the configuration includes other files, under conditions or not
}

// askHookDirs asks git in a directory. The error says that git gave no answer.
func askHookDirs(root string) (said hooksSaid, err error) {
	pieces, err := git.UserConfig(nil, root, "--type=path", "--show-origin", "--get-regexp",
		`^(core\.hookspath|include(if\..*)?\.path)$`)
	if err != nil {
		return said, err
	}
	for pair := range slices.Chunk(pieces, 2) {
		origin, setting := pair[0], pair[len(pair)-1]
		key, value, _ := strings.Cut(setting, "\n")
		if key != "core.hookspath" {
			said.includes = true
			continue
		}
		said.dirs = append(said.dirs, value)
		said.from = append(said.from, origin)
	}
	return said, nil
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
