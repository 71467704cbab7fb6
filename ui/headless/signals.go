package headless

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Signals ends a headless run on INT, TERM, HUP and PIPE, and lets the process die of the signal
// itself, so that a shell stops its loop.
type Signals struct {
	cancel  context.CancelCauseFunc
	caught  atomic.Pointer[caught]
	stop    func()
	outputs []*os.File
	last    atomic.Pointer[func()]
	die     func() // Die, except in tests
}

// caught is the signal that ended the run, and when it came.
type caught struct {
	signal os.Signal
	at     time.Time
}

// sameSignal is how long another signal is no second wish: timeout(1) signals its child, then its
// process group.
const sameSignal = 500 * time.Millisecond

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

// Sent is the signal, for a command that is to get it, too.
func (e *SignalError) Sent() syscall.Signal {
	number, _ := e.Signal.(syscall.Signal) // All that are watched are such.
	return number
}

// Error names the signal.
func (e *SignalError) Error() string {
	name := e.Signal.String()
	if number, ok := e.Signal.(syscall.Signal); ok {
		name = unix.SignalName(number)
	}
	return "stopped by " + name
}

// ErrorKind is signal: no row of the exit table, the signal itself decides.
func (e *SignalError) ErrorKind() string { return "signal" }

// ErrorHint is empty: the sender knows.
func (e *SignalError) ErrorHint() string { return "" }

// Shown reports whether the user reads of the signal: not of a Ctrl-C, nor of a reader that left.
func (e *SignalError) Shown() bool { return e.Signal != syscall.SIGINT && e.Signal != syscall.SIGPIPE }

// Watch begins to watch. The context it returns ends at the first signal; a second one, later
// than sameSignal after it, ends the process at once. Signals that were ignored at the start
// (nohup) stay so. outputs are stdout and stderr: a write to one without a reader is an error,
// see Broken, and not the end of the process.
func Watch(ctx context.Context, outputs ...*os.File) (context.Context, *Signals) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Signals{cancel: cancel, outputs: outputs}
	s.die = s.Die
	watched := []os.Signal{syscall.SIGPIPE}
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			watched = append(watched, sig)
		}
	}
	came := make(chan os.Signal, 4)
	signal.Notify(came, watched...)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-came:
				s.take(sig)
			case <-done:
				return
			}
		}
	}()
	s.stop = func() { signal.Stop(came); close(done) }
	return ctx, s
}

// take acts on a signal. SIGPIPE comes for connections to servers too: the write that failed
// decides, see Broken.
func (s *Signals) take(sig os.Signal) {
	if sig == syscall.SIGPIPE {
		return
	}
	first := s.caught.Load()
	switch {
	case first == nil:
		s.Stop(sig)
	case time.Since(first.at) >= sameSignal:
		if last := s.last.Load(); last != nil {
			(*last)()
		}
		s.die()
	}
}

// Last sets a func that is called, on a goroutine of its own, before a second signal ends the process at once.
func (s *Signals) Last(f func()) { s.last.Store(&f) }

// Broken takes the error of writing to an output. One whose reader has gone ends the run as
// SIGPIPE does.
func (s *Signals) Broken(err error) {
	if errors.Is(err, syscall.EPIPE) {
		s.Stop(syscall.SIGPIPE)
	}
}

// Stop ends the run as if the signal had come. The first one counts.
func (s *Signals) Stop(sig os.Signal) {
	if s.caught.CompareAndSwap(nil, &caught{sig, time.Now()}) {
		s.cancel(&SignalError{sig})
	}
}

// Caught is the signal that ended the run, nil if no signal did.
func (s *Signals) Caught() os.Signal {
	if first := s.caught.Load(); first != nil {
		return first.signal
	}
	return nil
}

// Code is the exit status a shell shows for the caught signal.
func (s *Signals) Code() int {
	if sig, ok := s.Caught().(syscall.Signal); ok {
		return 128 + int(sig)
	}
	return 1
}

// Die lets the process die of the caught signal. Where that is impossible it returns, for an exit
// with Code.
func (s *Signals) Die() {
	sig := s.Caught()
	if sig == nil {
		return
	}
	signal.Reset(sig)
	if sig == syscall.SIGPIPE {
		// Sent by the process to itself it would be ignored: only a write makes the runtime die of it.
		for _, f := range withoutReader(s.outputs) {
			_, _ = f.Write([]byte{'\n'}) // the write raises SIGPIPE
		}
		return
	}
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(sig) == nil {
		<-time.After(time.Second) // the signal is on its way
	}
}

// End stops watching: from then on a signal ends the process as it does any other.
func (s *Signals) End() { s.stop() }

// withoutReader are the files whose reader has gone: the kernel says so without a write.
func withoutReader(files []*os.File) []*os.File {
	var gone []*os.File
	for _, f := range files {
		ask := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(ask, 0); err == nil && n > 0 && ask[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
			gone = append(gone, f)
		}
	}
	return gone
}
