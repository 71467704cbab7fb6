package project

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/tool/needs"
)

// TestGitDoesNotFollowWhatLeadsElsewhere has repositories that show another one.
func TestGitDoesNotFollowWhatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	for name, make := range map[string]func(root, other string) error{
		"alternates": func(root, other string) error {
			path := filepath.Join(root, ".git", "objects", "info")
			if err := os.MkdirAll(path, 0o755); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(path, "alternates"), []byte(other), 0o644)
		},
		"objects": func(root, other string) error {
			path := filepath.Join(root, ".git", "objects")
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink(other, path)
		},
		"a todo list": func(root, other string) error {
			return os.Symlink(filepath.Join(other, "x"), filepath.Join(root, ".git", "rebase-todo"))
		},
		"revisions to ignore": func(root, _ string) error {
			return os.WriteFile(filepath.Join(root, ".git", "config"),
				[]byte("[blame]\n\tignoreRevsFile = /etc/passwd\n"), 0o644)
		},
		"a viewer of manuals": func(root, _ string) error {
			return os.WriteFile(filepath.Join(root, ".git", "config"),
				[]byte("[man]\n\tviewer = x\n[man \"x\"]\n\tcmd = ./x\n"), 0o644)
		},
		"a format": func(root, _ string) error {
			return os.WriteFile(filepath.Join(root, ".git", "config"), []byte("[format]\n\tpretty = %G?\n"), 0o644)
		},
	} {
		root, other := realTemp(t), realTemp(t)
		mkfile(t, filepath.Join(other, "x"), "x")
		mkrepo(t, root)
		mkfile(t, filepath.Join(root, ".git", "config"), "[core]\n\tbare = false\n")
		p := Project{Root: root, Dir: root, Git: true}
		if err := p.GitRuns(); err != nil {
			t.Errorf("%s: before: %v", name, err)
		}
		if err := make(root, other); err != nil {
			t.Log(err) // links are not for everybody
			continue
		}
		if err := p.GitRuns(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
