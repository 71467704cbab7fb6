package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
)

// hookFinder keeps what git said of core.hooksPath, as long as nothing that git reads
// for it has changed.
type hookFinder struct {
	root    string
	environ []string
	ask     func(root string) (hooksSaid, error)
	atMost  time.Duration // how long an answer counts

	mu    sync.Mutex
	kept  bool
	asked time.Time
	files map[string]names.Stamp
	dirs  []string
}

// find returns the values of core.hooksPath, nil where git says nothing.
func (f *hookFinder) find() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept && time.Since(f.asked) < f.atMost && f.unchanged() {
		return f.dirs
	}
	// What the files are comes before what git says of them: a change between the two
	// is seen the next time.
	f.asked = time.Now()
	files, settled := f.look()
	said, err := f.ask(f.root)
	f.kept = err == nil && settled && !said.includes && !slices.ContainsFunc(said.from, func(origin string) bool {
		path, isFile := strings.CutPrefix(origin, "file:")
		_, known := files[git.SeenFrom(f.root, path)]
		return !isFile || !known
	})
	f.files, f.dirs = files, said.dirs
	return said.dirs
}

// unchanged reports whether all files are what they were when git was asked.
func (f *hookFinder) unchanged() bool {
	for path, was := range f.files {
		if now, _ := names.StampAt(path); now != was {
			return false
		}
	}
	return true
}

// look says what the files are. settled is false where one of them may change without
// a sign of it, or where it is not known which ones git reads.
func (f *hookFinder) look() (files map[string]names.Stamp, settled bool) {
	files, settled = map[string]names.Stamp{}, true
	stamp := func(path string) names.Stamp {
		s, sure := names.StampAt(path)
		files[path], settled = s, settled && sure
		return s
	}
	for _, path := range f.ownConfig() {
		stamp(git.SeenFrom(f.root, path))
	}
	for _, kv := range f.environ {
		name, value, _ := strings.Cut(kv, "=")
		settled = settled && (value == "" || name != "GIT_DIR" && name != "GIT_COMMON_DIR" && name != "GIT_CONFIG")
	}
	for dir := range git.LooksIn(f.root) {
		git := filepath.Join(dir, ".git")
		if stamp(git) != (names.Stamp{}) {
			if info, err := os.Lstat(git); err != nil || !info.IsDir() || !stampRepository(git, stamp) {
				return files, false // it leads elsewhere
			}
		}
		// The directory itself may be a bare repository.
		if stamp(filepath.Join(dir, "HEAD")) != (names.Stamp{}) && !stampRepository(dir, stamp) {
			return files, false
		}
	}
	return files, settled
}

// stampRepository looks at what makes a repository of a directory, and what of it git
// reads as configuration. false says that the configuration is elsewhere.
func stampRepository(dir string, stamp func(string) names.Stamp) bool {
	for name := range strings.FieldsSeq("HEAD config config.worktree objects refs") {
		stamp(filepath.Join(dir, name))
	}
	return stamp(filepath.Join(dir, "commondir")) == names.Stamp{}
}

// ownConfig are the files of the user's and of the system's that git reads.
func (f *hookFinder) ownConfig() []string {
	variable := environ.Variable(f.environ)
	paths := []string{"/etc/gitconfig", variable("GIT_CONFIG_SYSTEM"), variable("GIT_CONFIG_GLOBAL")}
	if git, err := exec.LookPath("git"); err == nil {
		for _, program := range []string{git, realOr(git)} {
			paths = append(paths, filepath.Join(filepath.Dir(filepath.Dir(program)), "etc", "gitconfig"))
		}
	}
	home := variable("HOME")
	if home != "" {
		paths = append(paths, filepath.Join(home, ".gitconfig"))
	}
	if xdg := variable("XDG_CONFIG_HOME"); xdg != "" {
		paths = append(paths, filepath.Join(xdg, "git", "config"))
	} else if home != "" {
		paths = append(paths, filepath.Join(home, ".config", "git", "config"))
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == "" })
}

// realOr is a path without links, or as it is where that cannot be told.
func realOr(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
