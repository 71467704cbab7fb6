//go:build unix

package config

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup makes what the command starts end with it when the time is over: a
// shell alone would leave its program behind.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
}
