package project

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
)

// GitSetting is a setting of git's configuration, in force or in a file that git would include under a condition.
type GitSetting struct {
	Key   string // It is in lower case, except for a name between section and key.
	Value string
	From  string // It is the file, absolute; "" for another source.

	home string // ~ in a path
}

// Includes reports whether the value is a file of further settings.
func (s GitSetting) Includes() bool {
	return s.Key == "include.path" || strings.HasPrefix(s.Key, "includeif.") && strings.HasSuffix(s.Key, ".path")
}

// Path is the value as a path, absolute: relative ones are seen from dir.
func (s GitSetting) Path(dir string) string {
	return git.SeenFrom(dir, names.InHome(s.Value, s.home))
}

// settingsKept is how long an answer of git's on its settings counts where the repository's own
// configuration left as it is: meanwhile only the user, or a call that was approved, can have
// changed another file that git reads for it. A configuration younger than a tick of its file
// system's clock may change again unseen, and one with a time in whole seconds always may.
const settingsKept = time.Second

// SettingsFinder returns a func that lists git's settings in the project, those of included files too. Git itself is
// asked, for 4 ms, unless it was a moment ago. Where git gives no answer it has none. Any goroutine may call the func.
func (p Project) SettingsFinder() func() []GitSetting {
	var mu sync.Mutex
	var asked time.Time // zero where the answer is not kept
	var config names.Stamp
	var settings []GitSetting
	return func() []GitSetting {
		mu.Lock()
		defer mu.Unlock()
		_, common := NamedDirs(p.Root)
		// The file's stamp is taken before git's answer: a change between the two is seen the next time.
		now := names.StampAt(filepath.Join(common, "config"))
		if time.Since(asked) < settingsKept && now == config {
			return settings
		}
		asked, config = time.Now(), now
		var err error
		settings, err = askSettings(p.Environ, p.Root)
		changed, statErr := names.Changed(filepath.Join(common, "config"))
		if err != nil || slices.ContainsFunc(settings, GitSetting.Includes) ||
			statErr == nil && (time.Since(changed) < names.ClockTick || changed.Nanosecond() == 0) {
			asked = time.Time{}
		}
		return settings
	}
}

// NamedDirs are the directories that git in the work tree at top would work on, whosever they are: its own and the one
// that it shares. Where there are none they are those that git would make.
func NamedDirs(top string) (dir, common string) {
	dir, common, err := git.NamedDirs(top)
	if err != nil {
		dir = filepath.Join(top, ".git")
		common = dir
	}
	return dir, common
}

// ReadSome reads a small regular file.
func ReadSome(path string) (string, error) { return git.ReadSome(path) }

// askSettings asks git in root for its settings. The error says that git gave no answer.
func askSettings(vars environ.Vars, root string) ([]GitSetting, error) {
	pieces, err := git.UserConfig(vars, git.Here(vars), root, "--list", "--show-origin", "--includes")
	if err != nil {
		return nil, err
	}
	var settings []GitSetting
	seen := map[string]bool{}
	for i := 0; i+1 < len(pieces); i += 2 {
		from := ""
		if path, ok := strings.CutPrefix(pieces[i], "file:"); ok {
			from = git.SeenFrom(root, path)
			seen[from] = true
		}
		settings = append(settings, settingOf(vars, pieces[i+1], from))
	}
	return withIncluded(vars, settings, seen), nil
}

// SettingsIn lists the settings of a configuration file, those of the files that it includes too.
func SettingsIn(vars environ.Vars, path string) []GitSetting {
	return withIncluded(vars, settingsOf(vars, path), map[string]bool{path: true})
}

func settingsOf(vars environ.Vars, path string) (settings []GitSetting) {
	pieces, err := git.UserConfig(vars, git.Here(vars), filepath.Dir(path), "--list", "--file", path)
	if err != nil {
		return nil // git cannot read it either
	}
	for _, piece := range pieces {
		settings = append(settings, settingOf(vars, piece, path))
	}
	return settings
}

func settingOf(vars environ.Vars, piece, from string) GitSetting {
	key, value, _ := strings.Cut(piece, "\n")
	return GitSetting{Key: key, Value: value, From: from, home: vars.Home()}
}

// withIncluded adds the settings of the files that settings include, whatever the condition. seen are the files that
// were read.
func withIncluded(vars environ.Vars, settings []GitSetting, seen map[string]bool) []GitSetting {
	const most = 100
	for i := 0; i < len(settings) && len(seen) < most; i++ {
		s := settings[i]
		if path := s.Path(filepath.Dir(s.From)); s.Includes() && s.From != "" && !seen[path] {
			seen[path] = true
			settings = append(settings, settingsOf(vars, path)...)
		}
	}
	return settings
}

// HookDirs are the directories that core.hooksPath names, each as it is written and without links.
func (p Project) HookDirs(settings []GitSetting) (dirs []string) {
	for _, s := range settings {
		if s.Key == "core.hookspath" && s.Value != "" {
			to := s.Path(p.Root)
			dirs = append(dirs, names.Real(to), to)
		}
	}
	return dirs
}

// HooksIn names the hooks that git in dir would run: executable files of the
// repository's own directory of hooks, and of those that core.hooksPath names.
func HooksIn(dir string, vars environ.Vars, hookDirs, gitDirs []string) (hooks []string) {
	p, err := Repository(dir, vars, gitDirs...)
	if err != nil || !p.Git {
		return nil
	}
	if _, common, err := git.Dirs(p.Root, p.GitDirs...); err == nil {
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

// HasRef reports whether a name is that of a branch or tag of the project's repository, or HEAD.
func (p Project) HasRef(ctx context.Context, environ []string, name string) bool {
	g := git.Git{Own: p.Environ, Dir: p.Root, Env: git.SafeEnviron(environ)}
	return name == "HEAD" || g.Do(ctx, "show-ref", "--verify", "--quiet", "refs/heads/"+name) == nil ||
		g.Do(ctx, "show-ref", "--verify", "--quiet", "refs/tags/"+name) == nil
}
