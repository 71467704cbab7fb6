//go:build unix && !linux && !darwin

package tool

import (
	"errors"
	"os/exec"
	"syscall"
)

// confine gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// listProcesses has no way of its own here: commands are ended by their group.
func listProcesses() ([]procInfo, error) { return nil, errors.ErrUnsupported }

// list are the running processes.
func (p *process) list() ([]procInfo, error) { return listProcesses() }

// left has no way of its own here.
func (p *process) left(procInfo) bool { return false }

// environOf has no way of its own here.
func environOf(int) []byte { return nil }
