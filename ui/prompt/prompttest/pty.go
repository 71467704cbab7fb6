//go:build unix

package prompttest

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// OpenPTY opens a pseudo terminal: the end that a test reads and types on, and the terminal itself. The caller
// closes both.
func OpenPTY() (master, tty *os.File, err error) { return openPTY() }

// StartPTY starts a program in a session of its own on a new terminal of that size, its streams where the
// command has none, and returns the end that a test reads and types on. The caller closes it.
func StartPTY(cmd *exec.Cmd, cols, rows int) (*os.File, error) {
	master, tty, err := OpenPTY()
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	if cmd.Stdin == nil {
		cmd.Stdin = tty
	}
	if cmd.Stdout == nil {
		cmd.Stdout = tty
	}
	if cmd.Stderr == nil {
		cmd.Stderr = tty
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	if err = ResizePTY(master, cols, rows); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, master.Close())
	}
	return master, nil
}

// ResizePTY changes the size of a terminal, given by either of its ends.
func ResizePTY(f *os.File, cols, rows int) error {
	return unix.IoctlSetWinsize(int(f.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
}
