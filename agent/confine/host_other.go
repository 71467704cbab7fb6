//go:build !linux || !(amd64 || arm64)

package confine

import (
	"os/exec"

	"artoo/tool/shell"
)

// Host starts unconfined commands. No launcher ends their leftover processes here when artoo is killed.
type Host struct {
	Warn func(text string)
}

// Start implements shell.Start.
func (h *Host) Start(cmd *exec.Cmd) (shell.Started, error) { return shell.StartHere(cmd) }

// Close has nothing to end.
func (h *Host) Close() error { return nil }
