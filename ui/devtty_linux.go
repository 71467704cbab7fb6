package ui

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput throws away what was typed and not read yet.
func flushInput(f *os.File) error {
	fd, err := fdOf(f)
	if err != nil {
		return err
	}
	return unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH)
}
