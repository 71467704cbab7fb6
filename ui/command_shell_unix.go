//go:build unix

package ui

import (
	"errors"
	"os/exec"
	"syscall"
)

// ownSession lets a program run apart from the terminal: keys typed here do not
// reach it, and it cannot wait for the terminal.
func ownSession(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// stopCommand asks a command to end, or kills it: all of its group, if it has
// one of its own. One that shares the terminal hears Ctrl-C by itself; it is
// told only when the conversation ends.
func stopCommand(command *exec.Cmd, kill bool) error {
	pid, sig := command.Process.Pid, syscall.SIGTERM
	if command.SysProcAttr != nil && command.SysProcAttr.Setsid {
		pid, sig = -pid, syscall.SIGINT
	}
	if kill {
		sig = syscall.SIGKILL
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
