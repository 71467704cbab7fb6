//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminalQueue gives the means to throw away and to count what the system holds
// for a terminal; nil for what is none. A pseudo terminal of Linux counts
// nothing, and keeps the 4,095 bytes that its other end could read already.
func terminalQueue(out io.Writer) (flush func() error, waiting func() int) {
	f, ok := out.(*os.File)
	if !ok || !isTerminal(f) {
		return nil, nil
	}
	flush = func() error {
		fd, err := fdOf(f)
		if err != nil {
			return err
		}
		return flushOutput(fd)
	}
	waiting = func() int {
		fd, err := fdOf(f)
		if err != nil {
			return 0
		}
		n, err := unix.IoctlGetInt(fd, unix.TIOCOUTQ)
		if err != nil {
			return 0
		}
		return n
	}
	return flush, waiting
}
