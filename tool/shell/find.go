// Package shell runs a shell command and leaves nothing of it behind: the command
// has a session of its own, its output is collected without terminal control, and
// what it started is found and ended with it, also what left its session. It
// knows nothing of tools or models.
package shell

import (
	"os/exec"
	"path/filepath"
)

// Find is the path of bash, where there is none of sh, "" where there is
// neither.
func Find() string {
	for _, name := range []string{"bash", "/bin/bash", "sh", "/bin/sh"} {
		if shell, err := exec.LookPath(name); err == nil && filepath.IsAbs(shell) {
			return shell
		}
	}
	return ""
}
