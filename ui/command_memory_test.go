//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"path/filepath"
	"testing"

	"artoo/agent"
	"artoo/tool/project"
)

// The text that the editor saves becomes the memory, unless the file was changed meanwhile.
func TestTheEditorChangesMemory(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ editor, says, want string }{
		"added":      {script(t, `echo '- two' >>"$1"`), "memory is changed", "- one\n- two\n"},
		"no newline": {script(t, `printf '%s' '- two' >"$1"`), "memory is changed", "- two\n"},
		"emptied":    {script(t, `: >"$1"`), "memory is changed", ""},
		"not saved":  {"true", "memory is unchanged", "- one\n"},
		"as it was":  {"touch", "memory is unchanged", "- one\n"},
		"failed":     {script(t, `: >"$1"; exit 3`), "VISUAL or EDITOR names another", "- one\n"},
		"by another": {script(t, `echo '- two' >>"$1"; echo '- other' >"$KEPT"`), "nothing is written", "- other\n"},
	} {
		t.Run(name, func(t *testing.T) {
			memory := filepath.Join(t.TempDir(), "memory.md")
			if err := os.WriteFile(memory, []byte("- one\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			a, err := agent.New(agent.Options{Model: testModel("demo", "demo-1"), Sessions: agent.Sessions{Ephemeral: true},
				Workspace: &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}, Memory: memory}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = a.Close() })
			k := startPTY(t, &sender{play: sendTo(a)}, func(o *Options) {
				withEditor("EDITOR="+row.editor, "KEPT="+memory)(o)
				o.Agent = a
			})
			k.expect("you: ")
			k.enter("/memory edit")
			k.expect(row.says)
			k.expect("you: ")
			if got, err := os.ReadFile(memory); err != nil || string(got) != row.want {
				t.Errorf("memory is %q, %v", got, err)
			}
		})
	}
}
