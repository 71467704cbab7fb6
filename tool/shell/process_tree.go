package shell

import (
	"crypto/rand"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Process is what the system tells of a process.
type Process struct {
	PID, Parent, Group, Session int
	Began                       uint64 // ticks since the system started; 0 where not looked up
	Dead                        bool   // it has ended, and nobody has asked how
	Kernel                      bool   // it is a thread of the kernel's
}

// Grow adds to a set of processes, by their numbers, what descends from them
// among all.
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

// Started is a command that runs, with all that came from it. It is used by one
// goroutine.
type Started interface {
	Done() <-chan struct{} // closed when the command itself has ended
	Exit() Exit            // how it ended; only after that
	Signal(syscall.Signal)
	Runs() bool // whether anything of it runs still
	// KillAll ends what is left, and returns how many processes besides the command
	// it stopped, and how many it could not.
	KillAll() (stopped, left int)
	// Release is called once, when nothing is left and Done is closed.
	Release()
}

// Exit is how a command ended.
type Exit struct {
	Code   int    // 0 after a signal
	Signal string // the signal's name, such as SIGKILL; "" for none
}

// processTree is a shell that was started on this machine as it is, and all that
// came from it.
type processTree struct {
	cmd    *exec.Cmd
	begun  time.Time
	before int           // the process number given last before it began, 0 when unknown
	done   chan struct{} // closed when the shell itself has ended
	// mark is a variable that the command's processes have in their environment,
	// also those that left its session, unless they wiped it.
	mark string
	// marks holds whether a process has the mark, by its number. What had it once goes on to
	// count as the command's: a process that was killed loses its environment before it ends.
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
func (p *processTree) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
