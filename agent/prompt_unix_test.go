//go:build unix

package agent_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"artoo/agent"
)

// TestInstructionsDoNotWaitForPipes would hang if a named pipe were opened.
func TestInstructionsDoNotWaitForPipes(t *testing.T) {
	root := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(root, "AGENTS.md"), 0o600))
	write(t, "the next name", root, "CLAUDE.md")
	list, _, err := agent.Instructions("", root, root)
	if err != nil || len(list) != 1 || list[0].Text != "the next name" {
		t.Errorf("%+v, %v", list, err)
	}
}
