//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// watchSignals delivers the signals a conversation answers to. A HUP that was
// ignored from the start (nohup) stays ignored.
func watchSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	wanted := []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	signal.Notify(signals, wanted...)
	return signals, func() { signal.Stop(signals) }
}

// endingSignals are those of them that end a conversation.
func endingSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

func isResize(s os.Signal) bool    { return s == syscall.SIGWINCH }
func isContinue(s os.Signal) bool  { return s == syscall.SIGCONT }
func isInterrupt(s os.Signal) bool { return s == syscall.SIGINT }
func isQuit(s os.Signal) bool      { return s == syscall.SIGQUIT }

// exitCode is how shells report an end by the signal.
func exitCode(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}

// hangup is the signal of a terminal that is gone.
const hangup = syscall.SIGHUP

// stopWait is how long suspend waits to have been continued before it believes
// that it was never stopped.
const stopWait = 300 * time.Millisecond

// suspend stops this process group, as the kernel does for Ctrl-Z.
func suspend() bool { return stopFor(syscall.SIGTSTP) }

// stopFor stops this process group by a signal of job control, and returns when
// it goes on. It reports false when nothing happened: in a group without a
// job-control shell above it the kernel ignores the signal.
func stopFor(s syscall.Signal) bool {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	if err := syscall.Kill(0, s); err != nil {
		return false
	}
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-continued:
		return true
	case <-timer.C:
	}
	// After a stop the timer has run out too; let the signal's goroutine win.
	timer.Reset(stopWait / 6)
	select {
	case <-continued:
		return true
	case <-timer.C:
		return false
	}
}

// dump gives a SIGQUIT its usual meaning: the runtime's dump of goroutines.
func dump() error {
	signal.Reset(syscall.SIGQUIT)
	return syscall.Kill(syscall.Getpid(), syscall.SIGQUIT)
}
