//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// Each decision on a write asks where git's hooks are, but git is only asked where that
// may have changed.
func TestGitIsNotAskedForItsHooksBeforeEachEdit(t *testing.T) {
	git := needs.Git(t)
	const edits = 20
	m := newModel(t, func(n int, _ providertest.Request) providertest.Reply {
		if n == edits {
			return providertest.Chat(providertest.Text("Done."))
		}
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "edit",
			fmt.Sprintf(`{"path":"main.go","old_string":"step %d;","new_string":"step %d;"}`, n, n+1)))
	})
	base := t.TempDir()
	bin, dir, asked := filepath.Join(base, "bin"), filepath.Join(base, "p"), filepath.Join(base, "asked")
	for path, text := range map[string]string{
		filepath.Join(bin, "git"):     fmt.Sprintf("#!/bin/sh\necho \"$*\" >> '%s'\nexec '%s' \"$@\"\n", asked, git),
		filepath.Join(dir, "main.go"): "step 0;\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(buildProgram(t, moduleDir), "-p", "--approval", "edits", "edit it")
	cmd.Dir, cmd.Env = dir, m.env(t, "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "main.go"))
	if err != nil || string(text) != fmt.Sprintf("step %d;\n", edits) {
		t.Fatalf("the file holds %q, %v", text, err)
	}
	calls, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	// An answer counts for a second, so that a slow machine asks more often.
	if n := strings.Count(string(calls), "config --"); n == 0 || n > edits {
		t.Errorf("for %d edits git was asked %d times:\n%s", edits, n, calls)
	}
}
