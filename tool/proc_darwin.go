package tool

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// confine gives the command a session of its own: without a terminal it cannot
// ask for a password behind everybody's back, nor be stopped for trying.
func confine(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// zombie is SZOMB of sys/proc.h.
const zombie = 5

// listProcesses lists the running processes, zombies left out.
func listProcesses() ([]procInfo, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	list := make([]procInfo, 0, len(all))
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		if pid <= 0 || all[i].Proc.P_stat == zombie {
			continue
		}
		session, err := unix.Getsid(pid)
		if err != nil {
			continue // it has ended since
		}
		list = append(list, procInfo{pid: pid, parent: int(all[i].Eproc.Ppid), group: int(all[i].Eproc.Pgid), session: session})
	}
	return list, nil
}

// list are the running processes.
func (p *process) list() ([]procInfo, error) { return listProcesses() }

// left reports whether a process left the command's session.
func (p *process) left(q procInfo) bool { return p.marked(q.pid) }

// environOf is the arguments and the environment that a process began with, nil
// where they cannot be read.
func environOf(pid int) []byte {
	environ, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		return nil
	}
	return environ
}
