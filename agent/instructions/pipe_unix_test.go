//go:build unix

package instructions_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent/instructions"
)

// A pipe of an instruction file's name is not waited for.
func TestAPipeIsNoInstructionFile(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{"p/CLAUDE.md": "the next name"})
	must(t, syscall.Mkfifo(filepath.Join(p.Root, "AGENTS.md"), 0o600))
	if diff := cmp.Diff([]string{"AGENTS.md no_file", "CLAUDE.md used: the next name"}, lines(instructions.Read(p))); diff != "" {
		t.Error(diff)
	}
}
