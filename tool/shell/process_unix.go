//go:build unix

package shell

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signal sends to the shell's group, and one by one to those of its processes
// that have left the group, as under timeout(1).
func (p *processTree) Signal(sig syscall.Signal) { p.send(sig, p.rest()) }

func (p *processTree) send(sig syscall.Signal, to []Process) {
	leader := p.cmd.Process.Pid
	inGroup := func(q Process) bool { return q.Group == leader }
	// The shell comes first: it must not go on, nor report, when what it
	// waited for has ended. An error says that a process is gone already, or
	// belongs to another user; KillAll looks which still run.
	if !p.ended() || slices.ContainsFunc(to, inGroup) {
		_ = p.kill(-leader, sig)
	}
	for _, q := range to {
		if !inGroup(q) {
			_ = p.kill(q.PID, sig)
		}
	}
}

// kill sends a signal to a process, or with a negative number to a group.
func kill(pid int, sig syscall.Signal) error { return syscall.Kill(pid, sig) }

// KillAll kills what is left of the command, and returns how many processes
// besides the shell it stopped, and how many it could not stop, as those of other
// users. It looks again until all are gone, since one may have started another
// before it was hit.
func (p *processTree) KillAll() (stopped, left int) {
	strays := map[int]bool{}
	deadline := time.NewTimer(time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		rest := p.rest()
		if len(rest) == 0 && p.ended() && !p.unsure {
			return len(strays), 0
		}
		for _, q := range rest {
			if q.PID != p.cmd.Process.Pid {
				strays[q.PID] = true
			}
		}
		p.send(syscall.SIGKILL, rest)
		select {
		case <-tick.C:
		case <-deadline.C:
			for _, q := range p.rest() {
				delete(strays, q.PID)
				left++
			}
			return len(strays), left
		}
	}
}

// rest are the processes of the command that still run: those of the session
// that the shell began, whatever group they are in and whoever their parent is
// now, those that left it, and what descends from them. Where processes cannot be
// listed it is the shell's group as a whole. It sets unsure.
func (p *processTree) rest() []Process {
	p.unsure = false
	leader := p.cmd.Process.Pid
	all, err := p.list()
	if err != nil {
		if syscall.Kill(-leader, 0) != nil {
			return nil
		}
		return []Process{{PID: leader, Group: leader, Session: leader}}
	}
	ours := map[int]bool{leader: !p.ended()}
	for _, q := range all {
		if q.Session == leader || !ours[q.PID] && p.left(q) {
			ours[q.PID] = true
		}
	}
	Grow(ours, all)
	return slices.DeleteFunc(all, func(q Process) bool { return !ours[q.PID] })
}

// marked reports whether a process has the command's mark in its environment. Of
// processes of other users that cannot be told; they could not be ended either.
func (p *processTree) marked(pid int) bool {
	if has, known := p.marks[pid]; known {
		return has
	}
	environ := Environ(pid)
	if bytes.Contains(environ, []byte(p.mark)) {
		p.marks[pid] = true
		return true
	}
	if environ != nil && becomesAnother(pid, len(environ)) {
		p.unsure = true
		return false
	}
	// Where becomesAnother cannot tell, an empty environment may be that of a process
	// that is becoming another program: it is looked at again.
	if environ == nil || len(environ) > 0 {
		p.marks[pid] = false
	}
	return false
}

// OwnGroup has a command started in a process group of its own, out of reach of
// the terminal's Ctrl-C. When it was made with a context, what it started ends
// with it when the context does: many a command is a script around its program.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return KillGroup(cmd) }
	}
}

// KillGroup kills a command started after OwnGroup with what it started. The
// error is os.ErrProcessDone where nothing of it is left.
func KillGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// signalOf is the signal that ended a process, as a name such as SIGKILL; ""
// when it exited.
func signalOf(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return SignalName(int(status.Signal()))
}

// SignalName is the name of a signal, such as SIGKILL; "" for a number that is
// none.
func SignalName(number int) string { return unix.SignalName(syscall.Signal(number)) }
