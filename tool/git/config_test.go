package git

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/needs"
)

func TestAConfigurationIsReadAsGitReadsIt(t *testing.T) {
	t.Parallel()
	program := needs.Git(t)
	for _, config := range []string{
		"[core]\n\tworktree = /a\n", "[core] worktree=/a", "[CORE]\nWorkTree = \"/a b\" # no\n", "[core \"x\"]\nworktree = /a\n",
		"# goes on \\\n[core]\nworktree = /a\n", "[core]\n; \\\nworktree = /a\n", "\ufeff[core]\r\n\tworktree = /a\r\n",
		"[core]\nworktree = /a\\\n/b\n", "[core]\nworktree = a\\tb\\\\c\\\"d\n", "[core]\nworktree = /a ; x\nbare\nworktree = /b\n",
		"[core]x=1[core]\nworktree = /c\n", "[a]\nb = \"c;d\"  e \n[core]\nworktree = '/x'\n", "[core]\tworktree\t=\t/a\t\n",
		"[core.x]\nworktree = /a\n", "[co\"re]\nworktree = /a\n", "[core]\nworktree = \"/a\n",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(program, "config", "--file", path, "--null", "core.worktree").Output()
		got, ok := setting(path, "core", "worktree")
		if exit, failed := errors.AsType[*exec.ExitError](err); failed && exit.ExitCode() != 1 {
			continue // git takes none of it
		}
		if want := strings.TrimSuffix(string(out), "\x00"); got != want || ok != (err == nil) {
			t.Errorf("%q: %q, %t, git: %q, %v", config, got, ok, want, err)
		}
	}
}
