//go:build !darwin && (!linux || !(amd64 || arm64))

package sandbox

import (
	"context"
	"os/exec"
	"runtime"
	"syscall"
)

// Sandbox confines commands. There is none on this system yet.
type Sandbox struct{}

// Process is a command that runs.
type Process struct{}

// Probe finds out how this machine can confine.
func Probe(context.Context, string) Facts {
	return Facts{Mechanism: None, Missing: []Lack{{What: "sandbox", Why: "artoo confines nothing on " + runtime.GOOS + " yet"}}}
}

// For are the facts for a project with these directories.
func (f Facts) For(...string) Facts { return f }

// Open starts the confinement of commands.
func Open(context.Context, Config, Facts) (*Sandbox, error) { return nil, ErrUnconfined }

// Close ends every command that still runs.
func (s *Sandbox) Close() error { return nil }

// Start runs a command.
func (s *Sandbox) Start(*exec.Cmd, Options) (*Process, error) { return nil, ErrUnconfined }

// Wait waits until the command and all it started have ended.
func (p *Process) Wait() (Exit, error) { return Exit{}, ErrUnconfined }

// Signal sends a signal to the command and all it started.
func (p *Process) Signal(syscall.Signal) error { return ErrUnconfined }

// Kill ends the command and all it started at once.
func (p *Process) Kill() error { return ErrUnconfined }

// Protect covers the files protected by now.
func (p *Process) Protect() error { return ErrUnconfined }

// Changes are the changes a command made on a layer.
func (p *Process) Changes(context.Context) (*Changes, error) { return nil, ErrUnconfined }

// Wrote reports whether the command changed something on a layer, which does not exist here.
func (p *Process) Wrote(context.Context) bool { return false }

// Denials lists the kernel's denials, as far as the system reports them.
func (p *Process) Denials() []Denial { return nil }

// Hides reports whether a path was out of the command's sight.
func (p *Process) Hides(string) bool { return false }

// Hides reports whether a path is out of sight of all commands.
func (s *Sandbox) Hides(string) bool { return false }

// Discard does nothing.
func (p *Process) Discard() error { return nil }

// LeaksOff describes for the model that leaks are not looked for; "" where they are.
const LeaksOff = ""

// ServedAt is 0: the loopback is the machine's own, so that no port of it is served.
func (s *Sandbox) ServedAt() int { return 0 }
