package headless

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"
)

// Signals ends a headless run on INT, TERM, HUP and PIPE, and lets the process
// die of the signal itself afterwards: a shell that sees that stops its loop.
type Signals struct {
	cancel context.CancelCauseFunc
	caught atomic.Pointer[os.Signal]
	stop   func()
}

// SignalError is the cause of a context that a signal ended.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "stopped by " + e.Signal.String() }

// Watch begins to watch. The context it returns ends at the first signal; a
// second one ends the process at once. A signal that was ignored when the
// process began (nohup) stays ignored.
func Watch(ctx context.Context) (context.Context, *Signals) {
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Signals{cancel: cancel}
	var watched []os.Signal
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE} {
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
				if s.caught.Load() != nil && sig != syscall.SIGPIPE {
					s.Die()
				}
				s.Stop(sig)
			case <-done:
				return
			}
		}
	}()
	s.stop = func() { signal.Stop(came); close(done) }
	return ctx, s
}

// Stop ends the run as if the signal had come. Writing to a pipe that nobody
// reads is such a signal.
func (s *Signals) Stop(sig os.Signal) {
	if s.caught.CompareAndSwap(nil, &sig) {
		s.cancel(&SignalError{sig})
	}
}

// Caught is the signal that ended the run, nil if none did.
func (s *Signals) Caught() os.Signal {
	if sig := s.caught.Load(); sig != nil {
		return *sig
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

// Die lets the process die of the caught signal. It returns only where a
// process cannot do that to itself; the caller then exits with Code.
func (s *Signals) Die() {
	sig := s.Caught()
	if sig == nil {
		return
	}
	signal.Reset(sig)
	if p, err := os.FindProcess(os.Getpid()); err == nil && p.Signal(sig) == nil {
		<-time.After(time.Second) // the signal is on its way
	}
}

// End stops watching.
func (s *Signals) End() { s.stop() }
