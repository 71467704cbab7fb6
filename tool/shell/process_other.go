//go:build !unix

package shell

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// NewSession has nothing to do: there are no sessions here.
func NewSession(*exec.Cmd) {}

// OwnGroup leaves it at the command itself: here it has no group to end.
func OwnGroup(*exec.Cmd) {}

// KillGroup kills a started command.
func KillGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// Signal ends the shell: there are no signals to ask with.
func (p *processTree) Signal(syscall.Signal) { _ = p.cmd.Process.Kill() }

// KillAll ends the shell if it still runs.
func (p *processTree) KillAll() (stopped, left int) {
	if !p.ended() {
		_ = p.cmd.Process.Kill()
	}
	return 0, 0
}

// kill ends a process: there are no signals here.
func kill(int, syscall.Signal) error { return errors.ErrUnsupported }

// rest is empty: processes are not listed here.
func (p *processTree) rest() []Process { return nil }

func signalOf(*os.ProcessState) string { return "" }

func SignalName(int) string { return "" }
