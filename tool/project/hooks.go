package project

import (
	"cmp"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
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

// HookFinder returns a func that lists the directories that core.hooksPath names, in
// whichever file of git's configuration; without git there are none. Git itself is
// asked, for 4 ms, since the answer must not be an old one, but only where something
// that git reads for its answer has changed. Any goroutine may call the func.
func (p Project) HookFinder() func() []string {
	f := &hookFinder{root: p.Root}
	return func() (dirs []string) {
		// As they are written, and without links.
		for _, to := range f.find() {
			to = git.SeenFrom(p.Root, to)
			dirs = append(dirs, names.Real(to), filepath.Clean(to))
		}
		return dirs
	}
}

// hookFinder keeps what git said of core.hooksPath, as long as nothing that git reads
// for it has changed.
type hookFinder struct {
	root string

	mu    sync.Mutex
	asked time.Time
	files map[string]names.Stamp // nil where the answer is not kept
	dirs  []string
}

// hooksKept is how long an answer counts: git may have been built to read a file of the
// system's that is not among those that are looked at.
const hooksKept = time.Second

// find returns the values of core.hooksPath, nil where git says nothing.
func (f *hookFinder) find() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	changed := func(path string) bool {
		now, _ := names.StampAt(path)
		return now != f.files[path]
	}
	if f.files != nil && time.Since(f.asked) < hooksKept && !slices.ContainsFunc(slices.Collect(maps.Keys(f.files)), changed) {
		return f.dirs
	}
	// What the files are comes before what git says of them: a change between the two
	// is seen the next time.
	f.asked = time.Now()
	paths, known := configFiles(f.root)
	files := map[string]names.Stamp{}
	for _, path := range paths {
		stamp, settled := names.StampAt(path)
		files[path], known = stamp, known && settled
	}
	dirs, from, err := askHookDirs(f.root)
	for _, origin := range from {
		path, isFile := strings.CutPrefix(origin, "file:")
		_, looked := files[git.SeenFrom(f.root, path)]
		known = known && isFile && looked
	}
	f.files, f.dirs = files, dirs
	if err != nil || !known {
		f.files = nil
	}
	return f.dirs
}

// askHookDirs asks git in root for the values of core.hooksPath, and for what holds them or
// includes other files. The error says that git gave no answer.
func askHookDirs(root string) (dirs, from []string, err error) {
	pieces, err := git.UserConfig(nil, root, "--type=path", "--show-origin", "--get-regexp",
		`^(core\.hookspath|include(if\..*)?\.path)$`)
	for pair := range slices.Chunk(pieces, 2) {
		key, value, _ := strings.Cut(pair[len(pair)-1], "\n")
		if key != "core.hookspath" {
			from = append(from, "an include")
			continue
		}
		dirs, from = append(dirs, value), append(from, pair[0])
	}
	return dirs, from, err
}

// configFiles are the files, there or not, by which git in root finds its configuration:
// the system's, the user's, and those that make a repository of a directory. known is false
// where it may have other ones.
func configFiles(root string) (paths []string, known bool) {
	variable := environ.Variable(os.Environ())
	home := variable("HOME")
	paths = []string{"/etc/gitconfig", variable("GIT_CONFIG_SYSTEM"), variable("GIT_CONFIG_GLOBAL"),
		filepath.Join(home, ".gitconfig"), filepath.Join(cmp.Or(variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config")), "git", "config")}
	if program, err := exec.LookPath("git"); err == nil {
		for _, program := range []string{program, names.Real(program)} {
			paths = append(paths, filepath.Join(filepath.Dir(filepath.Dir(program)), "etc", "gitconfig"))
		}
	}
	known = variable("GIT_DIR")+variable("GIT_COMMON_DIR")+variable("GIT_CONFIG") == ""
	for dir := range git.LooksIn(root) {
		own := filepath.Join(dir, ".git")
		if info, err := os.Lstat(own); err == nil && !info.IsDir() {
			known = false // it leads elsewhere
		}
		for _, at := range []string{dir, own} { // The directory itself may be a bare repository.
			known = known && !exists(filepath.Join(at, "commondir"))
			for name := range strings.FieldsSeq("HEAD config config.worktree commondir objects refs") {
				paths = append(paths, filepath.Join(at, name))
			}
		}
	}
	return paths, known
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
