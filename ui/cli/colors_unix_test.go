//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package cli

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"artoo/tool/needs"
)

// The user's own settings of git colour diffs, a repository's do not.
func TestGitsColoursAreTheUsers(t *testing.T) {
	needs.Git(t)
	home := t.TempDir()
	environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
	if got := gitColors(environ); len(got) != 0 {
		t.Errorf("without settings: %v", got)
	}
	text := "[color \"diff\"]\n\told = bold magenta\n\tnew = 33\n\tfrag = \"#ff8800\"\n\twhitespace = red\n[color]\n\tdiff = auto\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"config", "color.diff.meta", "red"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = repo, environ
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	t.Chdir(repo)
	want := map[string]string{"remove": "1;35", "add": "38;5;33", "frag": "38;2;255;136;0"}
	if got := gitColors(environ); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(text+"[color \"diff\"]\n\tcontext = nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := gitColors(environ); len(got) != 0 { // git itself shows no diff then
		t.Errorf("with a wrong value: %v", got)
	}
}
