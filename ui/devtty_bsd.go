//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// fread is FREAD of sys/fcntl.h: TIOCFLUSH then empties the input queue only.
const fread = 1

// flushInput throws away what was typed and not read yet.
func flushInput(f *os.File) error {
	fd, err := fdOf(f)
	if err != nil {
		return err
	}
	return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread)
}
