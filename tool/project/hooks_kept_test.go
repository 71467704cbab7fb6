package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"artoo/tool/needs"
)

// Whatever changes in the repository's configuration, the answer is the one that git gives, and
// an answer does not count for long where something else changes.
func TestHookDirsThatAreKeptAreThoseThatGitTells(t *testing.T) {
	needs.Git(t)
	home, top := realTemp(t), realTemp(t)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_SYSTEM", filepath.Join(home, "system"))
	config := filepath.Join(top, ".git", "config")
	p := Project{Root: top}
	find := p.SettingsFinder()
	write := func(path, text string) func() { return func() { mkfile(t, path, text) } }
	const hooks = "[core]\n\thooksPath = "
	for _, step := range []struct {
		what string
		do   func()
		want string // below top, "" for none
	}{
		{"no repository", func() {}, ""},
		{"a repository", func() { mkrepo(t, top) }, ""},
		{"its configuration", write(config, hooks+"one\n"), "one"},
		{"as many bytes", write(config, hooks+"two\n"), "two"},
		{"another file in its place", func() {
			mkfile(t, config+".lock", hooks+"six\n")
			if err := os.Rename(config+".lock", config); err != nil {
				t.Fatal(err)
			}
		}, "six"},
		{"a file that another includes", func() {
			mkfile(t, filepath.Join(top, "more"), hooks+"in\n")
			mkfile(t, config, "[include]\n\tpath = ../more\n")
		}, "in"},
		{"that file", write(filepath.Join(top, "more"), hooks+"on\n"), "on"},
		{"no such file any more", write(config, "[core]\n\tbare = false\n"), ""},
		{"the user's file", func() {
			mkfile(t, filepath.Join(home, ".gitconfig"), hooks+"own\n")
			<-time.After(settingsKept)
		}, "own"},
	} {
		step.do()
		for range 2 { // asked, and perhaps kept
			got := p.HookDirs(find())
			if (step.want == "") != (len(got) == 0) || step.want != "" && !slices.Contains(got, filepath.Join(top, step.want)) {
				t.Errorf("%s: %q, expected %q", step.what, got, step.want)
			}
		}
	}
}
