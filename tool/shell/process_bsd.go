//go:build unix && !linux

package shell

import (
	"os/exec"
	"syscall"
)

// NewSession gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying.
func NewSession(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// list are the running processes.
func (p *processTree) list() ([]Process, error) { return Processes() }

// becomesAnother is not known here.
func becomesAnother(_, _ int) bool { return false }

// left reports whether a process left the command's session.
func (p *processTree) left(q Process) bool { return p.marked(q.PID) }
