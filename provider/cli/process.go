package cli

import (
	"bytes"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"artoo/tool/shell"
)

// process is a running tool with all that it started. done is closed when all of it has ended.
type process struct {
	cmd  *exec.Cmd // its ProcessState is to be read after done
	done chan struct{}

	mu      sync.Mutex
	started shell.Started
}

func start(cmd *exec.Cmd) (*process, error) {
	cmd.Env = append([]string{}, cmd.Env...) // never nil: that means the environment of artoo itself
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

// stop interrupts the tool, ends it when it does not stop, and waits for that.
func (p *process) stop(wait timeouts) {
	p.signal(syscall.SIGINT)
	if !p.within(wait.interrupt) {
		p.end(wait.terminate)
	}
	<-p.done
}

// end ends the tool, and kills it after wait.
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

const (
	mostLine = 64 << 20 // bytes of one line, and of lines that wait
	mostTail = 64 << 10 // bytes of stderr that are kept
)

// lines takes a tool's output at once, up to a bound: some lose output that they could not write.
type lines struct {
	// ready gets a value when there is something to take.
	ready chan struct{}

	mu      sync.Mutex
	room    *sync.Cond
	waiting []byte // written, and not taken yet
	looked  int    // so many bytes of it hold no end of a line
	over    bool   // nothing more is written: the last line may have no end
	dropped bool   // the reader has gone
}

func newLines() *lines {
	l := &lines{ready: make(chan struct{}, 1)}
	l.room = sync.NewCond(&l.mu)
	return l
}

// Write implements io.Writer and never fails: a tool must not hang on a full pipe.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > mostLine && !l.dropped {
		l.room.Wait()
	}
	if !l.dropped {
		l.waiting = append(l.waiting, p...)
	}
	l.wake()
	return len(p), nil
}

func (l *lines) wake() {
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// end says that nothing more is written.
func (l *lines) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	l.wake()
}

// take returns the next line, nil where none waits. err says that one was too long.
func (l *lines) take() (line []byte, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	size := l.looked + bytes.IndexByte(l.waiting[l.looked:], '\n') + 1
	if size == l.looked { // its end has not come
		l.looked = len(l.waiting)
		switch {
		case l.looked > mostLine:
			return nil, errors.New("a line of more than 64 MiB")
		case !l.over || l.looked == 0:
			return nil, nil
		}
		size = l.looked
	}
	line, l.waiting, l.looked = l.waiting[:size:size], l.waiting[size:], 0
	l.room.Signal()
	return line, nil
}

func (l *lines) drop() {
	l.mu.Lock()
	l.dropped, l.waiting, l.looked = true, nil, 0
	l.mu.Unlock()
	l.room.Broadcast()
}

type tail struct {
	mu   sync.Mutex
	data []byte
}

// Write implements io.Writer and never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - mostTail; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}
