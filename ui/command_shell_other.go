//go:build !unix

package ui

import (
	"errors"
	"os"
	"os/exec"
)

// ownSession has nothing to do: there are no sessions here.
func ownSession(*exec.Cmd) {}

// stopCommand ends a command: there is no way to ask one.
func stopCommand(command *exec.Cmd, _ bool) error {
	if err := command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
