//go:build !unix

package tool

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// procInfo is a running process.
type procInfo struct{}

// confine has nothing to do: there are no sessions here.
func confine(*exec.Cmd) {}

// interrupt ends the shell: there are no signals to ask with.
func (p *process) interrupt() { _ = p.cmd.Process.Kill() }

// terminate ends the shell.
func (p *process) terminate() { _ = p.cmd.Process.Kill() }

// killAll ends the shell if it still runs.
func (p *process) killAll() (stopped, left int) {
	if !p.ended() {
		_ = p.cmd.Process.Kill()
	}
	return 0, 0
}

// kill ends a process: there are no signals here.
func kill(int, syscall.Signal) error { return errors.ErrUnsupported }

// rest is empty: processes are not listed here.
func (p *process) rest() []procInfo { return nil }

func signalOf(*os.ProcessState) string { return "" }

func signalName(int) string { return "" }
