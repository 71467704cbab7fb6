//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// fwrite is FWRITE of sys/fcntl.h: TIOCFLUSH then empties the output queue only.
const fwrite = 2

// flushOutput throws away what was written and not sent to the terminal yet.
func flushOutput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fwrite) }
