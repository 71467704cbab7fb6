package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"artoo/tool/git"
	"artoo/tool/needs"
)

// TestOnlyWhatIsCommittedIsNotLost asks git itself, where there is one.
func TestOnlyWhatIsCommittedIsNotLost(t *testing.T) {
	t.Parallel()
	root := realTemp(t)
	environ := append(git.SafeEnviron(os.Environ()), "HOME="+root)
	for _, name := range []string{"committed", "changed", "untracked", "ignored"} {
		mkfile(t, filepath.Join(root, name), "x")
	}
	mkfile(t, filepath.Join(root, "empty"), "")
	if Loses(nil, environ, filepath.Join(root, "committed")) == "" || Loses(nil, environ, filepath.Join(root, "none")) != "" ||
		Loses(nil, environ, root) != "" {
		t.Error("without a repository every file that is there is lost")
	}
	program := needs.Git(t)
	mkfile(t, filepath.Join(root, ".gitignore"), "ignored\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "committed", "changed"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"}} {
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = root, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	mkfile(t, filepath.Join(root, "changed"), "y")
	for name, lost := range map[string]bool{"committed": false, "changed": true, "untracked": true, "ignored": true,
		"empty": false, "none": false} {
		if got := Loses(nil, environ, filepath.Join(root, name)); (got != "") != lost {
			t.Errorf("%s: %q", name, got)
		}
	}
}

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
