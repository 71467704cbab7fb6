package prompt

import (
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func watchSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, append(endingSignals(), syscall.SIGINT, syscall.SIGQUIT, syscall.SIGWINCH, syscall.SIGCONT)...)
	return signals, func() { signal.Stop(signals) }
}

// endingSignals end a conversation. A HUP that was ignored from the start (nohup) stays
// ignored.
func endingSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// Code is how shells report an end by the signal.
func (e *SignalError) Code() int {
	if n, ok := e.Signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}

// hangup is the signal of a terminal that is gone.
const hangup = syscall.SIGHUP

// stopWait is how long suspend waits to have been continued.
const stopWait = 300 * time.Millisecond

// suspend stops this process group, as the kernel does for Ctrl-Z.
func suspend() bool { return stopFor(syscall.SIGTSTP) }

// stopFor stops this process group by a signal of job control, and returns when it goes on. It
// reports false where no job-control shell is above it: the kernel ignores the signal then.
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

// DieOfQuit ends the program by SIGQUIT. Go's runtime never lets go of that signal, so another
// program takes over this process. It returns only where that cannot be started.
func DieOfQuit() error {
	return syscall.Exec("/bin/sh", []string{"sh", "-c", "kill -QUIT $$"}, nil)
}

// watchModes remembers the modes of a terminal before a child gets it. repair puts them back if
// the child left the shell unusable; any other change may be the purpose of the
// child.
func watchModes(in io.Reader) (repair func() error, err error) {
	f, ok := in.(*os.File)
	if !ok || !IsTerminal(f) {
		return func() error { return nil }, nil
	}
	fd, err := fdOf(f)
	if err != nil {
		return nil, err
	}
	before, err := modesOf(fd)
	return func() error {
		now, err := modesOf(fd)
		if err == nil && !usable(*now) && usable(*before) {
			err = setModes(fd, before)
		}
		return err
	}, err
}

// usable says whether a shell in these modes takes lines, shows them, and can be interrupted.
func usable(t unix.Termios) bool {
	const local = unix.ICANON | unix.ECHO | unix.ISIG
	return t.Lflag&local == local && t.Iflag&unix.ICRNL != 0 && t.Oflag&unix.OPOST != 0
}

// passSignals passes on to a child the signals that end this program. It is called before the child is
// started, so that no signal falls in between; to gets the child then.
func passSignals() (to func(child *os.Process), stop func()) {
	came, done := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(came, endingSignals()...)
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
