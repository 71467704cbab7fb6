// Package gittest writes trees of files and repositories for tests.
package gittest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"artoo/tool/git"
	"artoo/tool/needs"
)

// WriteTree writes files below dir, by their paths with slashes.
func WriteTree(t testing.TB, dir string, tree map[string]string) {
	t.Helper()
	for name, content := range tree {
		abs := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(abs, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Repo turns the directory into a git repository without commits, as git init does, and needs no git for it.
func Repo(t testing.TB, dir string) {
	t.Helper()
	for _, sub := range []string{"hooks", "info", "objects/info", "objects/pack", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", filepath.FromSlash(sub)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	WriteTree(t, filepath.Join(dir, ".git"), map[string]string{"HEAD": "ref: refs/heads/main\n", "info/exclude": "",
		"config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"})
}

// Git runs git in dir without the configuration of the user or the machine, and returns its output. A test that needs
// more of git than a Repo is skipped where there is none. No commit starts git's housekeeping, a process of its own.
func Git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command(needs.Git(t), append([]string{"-c", "maintenance.auto=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(git.SafeEnviron(os.Environ()),
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Link makes a symbolic link.
func Link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}
