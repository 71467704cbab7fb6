//go:build unix && !linux && !darwin

package shell

import (
	"errors"
	"os/exec"
	"syscall"
)

// NewSession gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying.
func NewSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// Processes has no way of its own here: commands are ended by their group.
func Processes() ([]Process, error) { return nil, errors.ErrUnsupported }

// list are the running processes.
func (p *processTree) list() ([]Process, error) { return Processes() }

// left has no way of its own here.
func (p *processTree) left(Process) bool { return false }

// Environ has no way of its own here.
func Environ(int) []byte { return nil }

// Stat has the number alone: more is not looked up here.
func Stat(pid int) Process { return Process{PID: pid} }
