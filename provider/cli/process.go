package cli

import (
	"crypto/rand"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"artoo/tool/shell"
)

// markName is a variable that every process of a run inherits, so that those
// are found that have left its group and session.
const markName = "ARTOO_CLI_RUN"

// process is a running tool with all it started. It has ended when done is
// closed: the tool was waited for, and what it left running is killed.
type process struct {
	cmd    *exec.Cmd // its ProcessState is to be read after done
	mark   string
	begun  uint64 // when the tool began, as task.Began
	done   chan struct{}
	exited chan struct{} // closed when the tool itself has ended

	mu    sync.Mutex
	early []task // what ran when it was told to stop, or had said its last
}

// start starts the command, whose streams must be files.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, mark: rand.Text(), done: make(chan struct{}), exited: make(chan struct{})}
	cmd.Env = append(cmd.Env, markName+"="+p.mark)
	shell.NewSession(cmd) // it has no terminal to ask on
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.begun = shell.Stat(cmd.Process.Pid).Began
	go func() {
		_ = cmd.Wait() // cmd.ProcessState tells how it ended, and is nil where that is not known
		close(p.exited)
		p.killAll()
		close(p.done)
	}()
	return p, nil
}

// stop interrupts the tool as Ctrl-C would, and ends it when it does not stop.
// It returns when all its processes are gone.
func (p *process) stop(wait timeouts) {
	p.ask(syscall.SIGINT)
	if !p.within(wait.interrupt) {
		p.end(wait.terminate)
	}
	<-p.done
}

// end ends the tool without asking it to stop its work first: it is killed when
// it has not ended after wait.
func (p *process) end(wait time.Duration) {
	p.ask(syscall.SIGTERM)
	if !p.within(wait) {
		p.killAll()
	}
}

// within reports whether the process ends within d.
func (p *process) within(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}

// gone reports whether the tool itself has ended.
func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}
