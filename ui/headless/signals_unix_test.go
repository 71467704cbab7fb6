//go:build unix

package headless

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// hearHangups makes this process hear hangups, also one that was started to
// ignore them, as by nohup.
func hearHangups(t *testing.T) {
	heard := make(chan os.Signal, 1)
	signal.Notify(heard, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(heard) })
}

// over waits for the end of a run.
func over(t *testing.T, ctx context.Context) {
	t.Helper()
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the signal does not end the run")
	}
}

func TestASignalEndsTheRun(t *testing.T) {
	hearHangups(t)
	ctx, s := Watch(t.Context())
	defer s.End()
	if s.Caught() != nil {
		t.Fatalf("caught %v before there was one", s.Caught())
	}
	kill(t, syscall.SIGHUP)
	over(t, ctx)
	var cause *SignalError
	if !errors.As(context.Cause(ctx), &cause) || cause.Signal != syscall.SIGHUP || cause.ErrorKind() != "signal" {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
	if s.Caught() != syscall.SIGHUP || s.Code() != 129 {
		t.Errorf("caught %v, code %d", s.Caught(), s.Code())
	}
}

// timeout(1) signals its child and then the whole process group, within
// microseconds.
func TestASecondSignalAtOnceIsTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var words []string
		s := &Signals{cancel: func(error) {}, die: func() { words = append(words, "died") }}
		s.Last(func() { words = append(words, "last words") })
		s.take(syscall.SIGTERM)
		s.take(syscall.SIGTERM)
		time.Sleep(sameSignal - 1)
		s.take(syscall.SIGHUP)
		if len(words) > 0 || s.Caught() != syscall.SIGTERM {
			t.Fatalf("%q after signals that belong together, caught %v", words, s.Caught())
		}
		time.Sleep(time.Nanosecond)
		s.take(syscall.SIGTERM)
		if want := []string{"last words", "died"}; !slices.Equal(words, want) {
			t.Errorf("a second signal: %q, want %q", words, want)
		}
	})
}

// A pipe or a connection that the other side closed raises SIGPIPE as well as an
// output without a reader: only the latter ends the run.
func TestOnlyOutputsBreak(t *testing.T) {
	hearHangups(t)
	ctx, s := Watch(t.Context())
	defer s.End()
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, syscall.SIGPIPE)
	defer signal.Stop(seen)
	kill(t, syscall.SIGPIPE)
	<-seen
	s.Broken(fmt.Errorf("writing: %w", syscall.ENOSPC))
	if s.Caught() != nil {
		t.Fatalf("caught %v", s.Caught())
	}
	// Signals come in order: the one after the pipe's is the first that counts.
	kill(t, syscall.SIGHUP)
	over(t, ctx)
	if s.Caught() != syscall.SIGHUP {
		t.Errorf("caught %v", s.Caught())
	}

	ctx, s = Watch(t.Context())
	defer s.End()
	s.Broken(&os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.EPIPE})
	s.Stop(syscall.SIGTERM) // too late to count
	if over(t, ctx); s.Caught() != syscall.SIGPIPE || s.Code() != 141 {
		t.Errorf("caught %v, code %d", s.Caught(), s.Code())
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()
	r1, w1 := pipe(t)
	_, w2 := pipe(t)
	if gone := withoutReader([]*os.File{w1, w2}); len(gone) > 0 {
		t.Errorf("%d have no reader", len(gone))
	}
	r1.Close()
	if gone := withoutReader([]*os.File{w2, w1}); len(gone) != 1 || gone[0] != w1 {
		t.Errorf("%d have no reader, want one", len(gone))
	}
}

func kill(t *testing.T, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(os.Getpid(), sig); err != nil {
		t.Fatal(err)
	}
}
