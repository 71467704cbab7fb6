//go:build unix

package ui

import (
	"os/exec"
	"syscall"
)

// ownGroup has a command started in a process group of its own, out of reach
// of the terminal's Ctrl-C.
func ownGroup(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// killGroup kills a started command with what it started. That it has ended by
// itself meanwhile is as good.
func killGroup(command *exec.Cmd) { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
