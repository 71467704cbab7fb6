//go:build !windows

package ui

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Foreground reports whether this process may talk to the terminal f: it is its
// controlling terminal, and the process is in the foreground there.
func Foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// inLines reports whether the terminal f gives whole lines. Where it does not,
// another program reads its keys one by one.
func inLines(f *os.File) bool {
	t, err := unix.IoctlGetTermios(int(f.Fd()), getTermios)
	return err == nil && t.Lflag&unix.ICANON != 0
}

// readable waits until f has input, for timeout at most. It uses select: macOS
// cannot poll a terminal.
func readable(f *os.File, timeout time.Duration) (bool, error) {
	fd := int(f.Fd())
	var set unix.FdSet
	set.Zero()
	set.Set(fd)
	limit := unix.NsecToTimeval(timeout.Nanoseconds())
	n, err := unix.Select(fd+1, &set, nil, nil, &limit)
	if errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return n > 0, err
}
