package shell

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// Processes lists the running processes, zombies left out.
func Processes() ([]Process, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	list := make([]Process, 0, len(all))
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		if pid <= 0 || all[i].Proc.P_stat == zombie {
			continue
		}
		session, err := unix.Getsid(pid)
		if err != nil {
			continue // it has ended since
		}
		group, parent := int(all[i].Eproc.Pgid), int(all[i].Eproc.Ppid)
		list = append(list, Process{PID: pid, Parent: parent, Group: group, Session: session})
	}
	return list, nil
}

// Environ is the arguments and the environment that a process began with, nil
// where they cannot be read.
func Environ(pid int) []byte {
	environ, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	return environ
}

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
