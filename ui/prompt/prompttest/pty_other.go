//go:build unix && !linux

package prompttest

import (
	"os"

	"github.com/creack/pty"
)

func openPTY() (master, tty *os.File, err error) { return pty.Open() }
