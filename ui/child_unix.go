//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// watchModes remembers the modes of a terminal before a child gets it. mend puts
// them back if the child left them so that the shell could not be used: a
// program that crashed full-screen leaves no echo, no lines and no Ctrl-C.
// Anything else may be what the child was run for. An input that is no terminal
// has no modes.
func watchModes(in io.Reader) (mend func() error, err error) {
	f, ok := in.(*os.File)
	if !ok || !isTerminal(f) {
		return func() error { return nil }, nil
	}
	fd, err := fdOf(f)
	if err != nil {
		return nil, err
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	return func() error {
		now, err := unix.IoctlGetTermios(fd, getTermios)
		if err == nil && !usable(*now) && usable(*before) {
			err = unix.IoctlSetTermios(fd, setTermios, before)
		}
		if err != nil {
			return fmt.Errorf("terminal: %w", err)
		}
		return nil
	}, nil
}

// usable says whether a shell in these modes takes lines, shows them, and can be
// interrupted.
func usable(t unix.Termios) bool {
	const local = unix.ICANON | unix.ECHO | unix.ISIG
	return t.Lflag&local == local && t.Iflag&unix.ICRNL != 0 && t.Oflag&unix.OPOST != 0
}

// passSignals passes on to a child what ends this program: it must not go on
// with a terminal that is the shell's again. It is called before the child is
// started, so that no signal falls in between; to is told of the child then, and
// stop ends it.
func passSignals() (to func(child *os.Process), stop func()) {
	signals := []os.Signal{syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	came, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(came, signals...)
	to = func(child *os.Process) {
		go func() {
			select {
			case s := <-came:
				// It may be gone already, which is as good.
				_ = child.Signal(s)
			case <-done:
			}
		}()
	}
	return to, func() { signal.Stop(came); close(done) }
}

// keyboardSignal says whether a child ended by a signal of the keyboard or of a
// broken pipe; a shell reports its child's as 128 and the number.
func keyboardSignal(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok {
		return false
	}
	number := syscall.Signal(status.ExitStatus() - 128)
	if status.Signaled() {
		number = status.Signal()
	}
	return number == syscall.SIGINT || number == syscall.SIGQUIT || number == syscall.SIGPIPE
}
