//go:build unix

package shell

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// OwnGroup has a command started in a process group of its own, out of reach of
// the terminal's Ctrl-C. When it was made with a context, what it started ends
// with it when the context does: many a command is a script around its program.
func OwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Cancel != nil {
		cmd.Cancel = func() error { return KillGroup(cmd) }
	}
}

// KillGroup kills a command started after OwnGroup with what it started. The
// error is os.ErrProcessDone where nothing of it is left.
func KillGroup(cmd *exec.Cmd) error {
	err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}
