package cli

import (
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"artoo/tool/shell"
)

// process is a running tool with all that it started. It has ended when done is closed:
// the tool was waited for, and what it left running is killed.
type process struct {
	cmd  *exec.Cmd // its ProcessState is to be read after done
	done chan struct{}

	mu      sync.Mutex
	started shell.Started
}

// start starts the command, whose streams must be files.
func start(cmd *exec.Cmd) (*process, error) {
	cmd.Env = slices.Concat([]string{}, cmd.Env) // never nil, which would stand for artoo's own
	started, err := shell.StartHere(cmd)
	if err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, done: make(chan struct{}), started: started}
	go func() {
		<-started.Done()
		p.killAll()
		started.Release()
		close(p.done)
	}()
	return p, nil
}

// stop interrupts the tool as Ctrl-C would, and ends it when it does not stop.
// It returns when all its processes are gone.
func (p *process) stop(wait timeouts) {
	p.signal(syscall.SIGINT)
	if !p.within(wait.interrupt) {
		p.end(wait.terminate)
	}
	<-p.done
}

// end ends the tool without asking it to stop its work first: it is killed when
// it has not ended after wait.
func (p *process) end(wait time.Duration) {
	p.signal(syscall.SIGTERM)
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

// signal sends to the tool's group; its commands elsewhere learn of it from the tool.
func (p *process) signal(sig syscall.Signal) {
	select {
	case <-p.started.Done():
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, sig) // ESRCH: the group is gone
	}
}

func (p *process) killAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started.KillAll()
}
