//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package prompt

import (
	"io"

	"golang.org/x/sys/unix"
)

const (
	getTermios  = unix.TIOCGETA
	setTermios  = unix.TIOCSETA
	inputQueue  = 1 // FREAD of sys/fcntl.h
	outputQueue = 2 // FWRITE
)

// flushQueue throws away the bytes in one of a terminal's queues.
func flushQueue(fd, queue int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, queue) }

// newReadWatcher gives nil: such a system does not tell how much a terminal has read.
func newReadWatcher(io.Writer) readWatcher { return nil }
