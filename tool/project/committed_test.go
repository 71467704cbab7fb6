package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"artoo/tool/needs"
)

// Content that a pull brings is the remote's before it is HEAD's.
func TestWhatGitHoldsIsCommitted(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	environ := append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command(needs.Git(t), append([]string{"-C", root, "-c", "user.email=a@b", "-c", "user.name=a"}, args...)...)
		cmd.Env = environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q", "--template=", "-b", "main")
	put("a", "1")
	git("add", "-A")
	git("commit", "-q", "-m", "1")
	put(".envrc", "pulled")
	put(".husky/x", "pulled")
	put(".husky/y/z", "pulled")
	if err := os.Symlink("a", filepath.Join(root, "CLAUDE.md")); err != nil {
		t.Fatal(err)
	}
	git("add", "-A")
	git("commit", "-q", "-m", "2")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	git("reset", "-q", "--soft", "HEAD~1")
	git("rm", "-rq", "--cached", ".envrc", ".husky", "CLAUDE.md")
	put("staged", "2")
	git("add", "staged")
	project, err := Find(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(want map[string]bool) {
		t.Helper()
		for name, committed := range want {
			if got := project.Committed(t.Context(), environ, filepath.Join(root, name)); got != committed {
				t.Errorf("%s: %t", name, got)
			}
		}
	}
	put("new", "3")
	expect(map[string]bool{"a": true, ".envrc": true, ".husky": true, "CLAUDE.md": true, "staged": true, "new": false, "none": false})
	put(".envrc", "written")
	put(".husky/more", "written")
	put("staged", "other")
	expect(map[string]bool{".envrc": false, ".husky": false, "staged": false})
}
