package shell

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// adoption makes this process, while commands run, the one that the kernel gives
// their orphans to: whatever session and environment a process gives itself, it
// goes on to descend from here. The kernel knows one such setting for a whole
// process; so there is one of these for all commands.
var adoption struct {
	sync.Mutex
	shells map[int]bool
	first  Process
}

// adopt runs startShell, and counts the process among the commands.
func adopt(startShell func() (pid int, err error)) error {
	adoption.Lock()
	defer adoption.Unlock()
	if len(adoption.shells) == 0 {
		adoption.shells = map[int]bool{}
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // every kernel since 3.4 knows it
	}
	pid, err := startShell()
	if err == nil {
		if len(adoption.shells) == 0 {
			adoption.first = Stat(pid)
		}
		adoption.shells[pid] = true
	}
	if len(adoption.shells) == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
	}
	return err
}

// Release is called when nothing of the command is left, once.
func (p *processTree) Release() {
	reap()
	adoption.Lock()
	defer adoption.Unlock()
	delete(adoption.shells, p.cmd.Process.Pid)
	if len(adoption.shells) == 0 {
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) // it knew the setting when it was made
	}
}

// left reports whether a process left the session and was orphaned. While other commands run, the
// mark in its environment shows whose it is; one without a mark is left to the last of them.
func (p *processTree) left(q Process) bool {
	adoption.Lock()
	alone := len(adoption.shells) <= 1
	// The shell of another command may have ended, and been released, since q was
	// looked up: a process still there that is no shell now was none then.
	adopted := q.adopted() && Stat(q.PID).adopted()
	adoption.Unlock()
	return adopted && (alone || p.marked(q.PID) || p.looksAgain(q.PID))
}

// looksAgain has a process without a mark looked at once more: one that becomes another program in that
// moment shows an empty environment.
func (p *processTree) looksAgain(pid int) (left bool) {
	if !p.seen[pid] {
		p.seen[pid], p.unsure = true, true
		delete(p.marks, pid)
	}
	return false
}

// adopted reports whether the process was orphaned by a command. Nothing of a command can get back into the session of
// this process, and other children of this process are in that, or began before them. The lock is held.
func (q Process) adopted() bool {
	return q.Parent == os.Getpid() && q.Session != ownSession() && !adoption.shells[q.PID] && q.later(adoption.first)
}

// later reports whether a process began after another; within one tick their numbers decide.
func (q Process) later(than Process) bool {
	return q.Began > than.Began || q.Began == than.Began && q.PID > than.PID
}

var ownSession = sync.OnceValue(func() int { return Stat(os.Getpid()).Session })

// reap takes the status of orphans that have ended: no other code waits for them.
func reap() {
	var info unix.Siginfo
	// Most often there is none, and one call shows that.
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || info.Signo == 0 {
		return
	}
	adoption.Lock()
	defer adoption.Unlock()
	all, err := everyProcess()
	if err != nil {
		return
	}
	for _, q := range all {
		if q.Dead && q.adopted() {
			_, _ = unix.Wait4(q.PID, nil, unix.WNOHANG, nil)
		}
	}
}

// widen makes a pipe as large as one read of it. Where the user has too many of them it stays as it is.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, readSize) })
	}
}
