package project

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"artoo/tool/names"
)

// Whatever changes in what git reads, the answer is the one that git gives.
func TestHookDirsThatAreKeptAreThoseThatGitTells(t *testing.T) {
	base := realTemp(t)
	home, top := filepath.Join(base, "home"), filepath.Join(base, "above", "p")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_SYSTEM", filepath.Join(base, "system"))
	mkfile(t, filepath.Join(top, "main.go"), "package main\n")
	f := &hookFinder{root: top}
	// settle asks until the answer is kept, or reports that it never is.
	settle := func(step string) bool {
		for deadline := time.Now().Add(4 * coarseEnough); time.Now().Before(deadline); {
			got := f.find()
			said, _, _ := askHookDirs(top)
			if !slices.Equal(got, said) {
				t.Fatalf("%s: %q, and git says %q", step, got, said)
			}
			if f.files != nil {
				return true
			}
		}
		return false
	}
	write := func(path, text string) func() {
		return func() { mkfile(t, filepath.Join(base, path), text) }
	}
	const hooks = "[core]\n\thooksPath = "
	for _, step := range []struct {
		what   string
		do     func()
		unkept bool
	}{
		{"nothing", func() {}, false},
		{"the user's file", write("home/.gitconfig", hooks+"~/own\n"), false},
		{"the user's other file", write("home/.config/git/config", hooks+"/else\n"), false},
		{"the system's file", write("system", hooks+"/system\n"), false},
		{"a repository", func() { mkrepo(t, top) }, false},
		{"its configuration", write("above/p/.git/config", hooks+"one\n"), false},
		{"as many bytes", write("above/p/.git/config", hooks+"two\n"), false},
		{"another file in its place", func() {
			write("above/p/.git/config.lock", hooks+"six\n")()
			if err := os.Rename(filepath.Join(top, ".git", "config.lock"), filepath.Join(top, ".git", "config")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"none any more", func() {
			if err := os.Remove(filepath.Join(top, ".git", "HEAD")); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a repository above", func() {
			mkrepo(t, filepath.Join(base, "above"))
			write("above/.git/config", hooks+"higher\n")()
		}, false},
		{"a file that another includes", func() {
			write("home/.gitconfig", "[include]\n\tpath = more\n")()
			write("home/more", hooks+"/included\n")()
		}, true},
		{"no such file any more", write("home/.gitconfig", "[user]\n\tname = me\n"), false},
		{"a .git that leads elsewhere", func() {
			if err := os.Rename(filepath.Join(top, ".git"), filepath.Join(base, "elsewhere")); err != nil {
				t.Fatal(err)
			}
			write("elsewhere/HEAD", "ref: refs/heads/main\n")()
			write("above/p/.git", "gitdir: "+filepath.Join(base, "elsewhere")+"\n")()
		}, true},
	} {
		step.do()
		if kept := settle(step.what); kept == step.unkept {
			t.Errorf("%s: the answer is kept: %t", step.what, kept)
		}
	}
}

// coarseEnough is longer than a file of a usual file system counts as just changed.
const coarseEnough = 100 * time.Millisecond

func TestAnAnswerOnHookDirsDoesNotCountForever(t *testing.T) {
	f := &hookFinder{root: realTemp(t)}
	for range 2 {
		f.find()
		f.files, f.dirs = map[string]names.Stamp{}, []string{"old"}
		if f.asked = time.Now(); len(f.find()) == 0 {
			t.Error("an answer of now does not count")
		}
		if f.asked = time.Now().Add(-hooksKept); len(f.find()) != 0 {
			t.Error("an old answer counts")
		}
	}
}
