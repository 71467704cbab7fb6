package ui

import "golang.org/x/sys/unix"

const (
	getTermios  = unix.TCGETS
	setTermios  = unix.TCSETS
	inputQueue  = unix.TCIFLUSH
	outputQueue = unix.TCOFLUSH
)

// flushQueue throws away what waits in one of a terminal's queues.
func flushQueue(fd, queue int) error { return unix.IoctlSetInt(fd, unix.TCFLSH, queue) }
