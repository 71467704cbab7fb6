package shell

import (
	"bytes"
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is the system's description of a process.
type Process struct {
	PID, Parent, Group, Session int
	Began                       uint64 // ticks since the system started; 0 where not looked up
	Dead                        bool   // it has ended, but was not waited for
}

// Grow adds to a set of process numbers those of all their descendants.
func Grow(ours map[int]bool, all []Process) {
	for grown := true; grown; {
		grown = false
		for _, q := range all {
			if !ours[q.PID] && ours[q.Parent] {
				ours[q.PID], grown = true, true
			}
		}
	}
}

// Started is a command that runs, with all that came from it, for one goroutine.
type Started interface {
	Done() <-chan struct{} // closed when the command itself has ended
	Exit() Exit            // how it ended; only after that
	Signal(syscall.Signal)
	Runs() bool // whether anything of it runs still
	// KillAll ends descendants: how many processes besides the command it stopped, and how many
	// it could not.
	KillAll() (stopped, left int)
	// Release is called once, when nothing is left and Done is closed.
	Release()
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // 0 after a signal
	Signal string // the signal's name, such as SIGKILL; "" for none
}

// processTree is a shell on this machine as it is, and all that came from it.
type processTree struct {
	cmd    *exec.Cmd
	begun  time.Time
	before int           // the process number given last before it began, 0 when unknown
	done   chan struct{} // closed when the shell itself has ended
	// mark is a variable in the environment of the command's processes, unless they wiped it.
	mark string
	// marks holds whether a process has the mark, by its number, also when it has lost its environment.
	marks  map[int]bool
	seen   map[int]bool // processes without a mark that were looked at twice, or are about to be
	unsure bool         // rest saw one that has no mark yet, and may be the command's
	kill   func(pid int, sig syscall.Signal) error
}

// markName begins the name of the variable that marks a command's processes. It is
// not one of ARTOO_*, which an artoo within the command would take for a setting.
const markName = "_ARTOO_CALL_"

// StartHere starts a command on this machine as it is.
func StartHere(cmd *exec.Cmd) (Started, error) { return startTree(cmd) }

// startTree starts the command in a session of its own. The goroutine that does it
// keeps its thread until the command ends, because on Linux the kernel kills
// the command when the thread that started it is gone.
func startTree(cmd *exec.Cmd) (*processTree, error) {
	NewSession(cmd)
	p := &processTree{cmd: cmd, begun: time.Now(), before: lastNumber(), done: make(chan struct{}),
		mark: markName + rand.Text() + "=1", marks: map[int]bool{}, seen: map[int]bool{}, kill: kill}
	cmd.Env = append(cmd.Environ(), p.mark)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := adopt(func() (int, error) {
			if err := cmd.Start(); err != nil {
				return 0, err
			}
			return cmd.Process.Pid, nil
		})
		started <- err
		if err == nil {
			// The status is read from cmd.ProcessState.
			_ = cmd.Wait()
			close(p.done)
		}
	}()
	return p, <-started
}

// Done implements Started.
func (p *processTree) Done() <-chan struct{} { return p.done }

// Exit implements Started.
func (p *processTree) Exit() Exit {
	return Exit{Code: p.cmd.ProcessState.ExitCode(), Signal: signalOf(p.cmd.ProcessState)}
}

// Runs implements Started.
func (p *processTree) Runs() bool { return !p.ended() || len(p.rest()) > 0 || p.unsure }

// ended says whether the shell itself has ended.
func (p *processTree) ended() bool { return isClosed(p.done) }

// Signal sends to the shell's group, and one by one to processes that left it, as under timeout(1).
func (p *processTree) Signal(sig syscall.Signal) { p.send(sig, p.rest()) }

func (p *processTree) send(sig syscall.Signal, to []Process) {
	leader := p.cmd.Process.Pid
	inGroup := func(q Process) bool { return q.Group == leader }
	// The shell comes first: it must not go on, nor report, when the process it waited for has ended. An error says
	// that a process is gone already, or belongs to another user; KillAll looks which still run.
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

// KillAll kills descendants, and looks again until all are gone: one may have started another.
// Those of other users stay.
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

// rest are the processes of the command that still run: those of the session that the shell began, whatever
// group they are in and whatever their parent is now, those that left it, and their descendants. Where
// processes cannot be listed it is the shell's group as a whole. It sets unsure.
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

// marked reports whether a process has the mark in its environment, which other users' do not show.
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
// the terminal's Ctrl-C. When it was made with a context, its descendants end
// with it when the context does: many a command is a script around its program.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return KillGroup(cmd) }
	}
}

// KillGroup kills a command started after OwnGroup with its descendants, or returns os.ErrProcessDone.
func KillGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// signalOf is the signal that ended a process, such as SIGKILL; "" when it exited.
func signalOf(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return SignalName(int(status.Signal()))
}

// SignalNumber is the number of a signal by its name, such as SIGKILL; 0 for no such signal.
func SignalNumber(name string) int { return int(unix.SignalNum(name)) }

// SignalName is the name of a signal, such as SIGKILL; "" for no such number.
func SignalName(number int) string { return unix.SignalName(syscall.Signal(number)) }
