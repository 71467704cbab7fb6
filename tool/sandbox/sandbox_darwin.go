package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// sandboxExec is the program that confines commands on macOS.
const sandboxExec = "/usr/bin/sandbox-exec"

// Sandbox confines commands. Its methods may be called from any goroutine.
type Sandbox struct {
	config Config
	facts  Facts

	mu   sync.Mutex
	runs map[*Process]bool
}

// Process is a command that runs.
type Process struct {
	sandbox *Sandbox
	cmd     *exec.Cmd
	grace   time.Duration
	still   bool // it is read-only
}

// Probe finds out how this machine can confine. There is no answer to keep.
func Probe(ctx context.Context, _ string) Facts {
	err := exec.CommandContext(ctx, sandboxExec, "-p", "(version 1)(allow default)", "/usr/bin/true").Run()
	if err != nil {
		return Facts{Mechanism: None, Missing: []Lack{{What: "sandbox", Why: sandboxExec + ": " + err.Error()}}}
	}
	return Facts{Mechanism: SandboxExec, HidesFiles: true, Missing: []Lack{
		{What: "layer", Why: "macOS makes no copy-on-write layer"},
		{What: "network", Why: "the loopback that commands reach is the machine's own"},
		{What: "processes", Why: "other processes can be seen"},
	}}
}

// For are the facts for a project with these directories.
func (f Facts) For(...string) Facts { return f }

// Open readies a session's directories.
func Open(_ context.Context, config Config, facts Facts) (*Sandbox, error) {
	if config.Temp == "" {
		return nil, errors.New("sandbox: a directory for temporary files is needed")
	}
	dirs := []string{filepath.Join(config.Temp, "tmp")}
	for _, cache := range config.Caches {
		dirs = append(dirs, cache.Own)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	return &Sandbox{config: config, facts: facts, runs: map[*Process]bool{}}, nil
}

// Close ends every command that still runs.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.runs {
		_ = p.Kill() // it may be ending
	}
	return nil
}

// Start runs a command: its Path, Args, Env, Dir and streams, each an *os.File or
// nil. The other fields are not looked at.
func (s *Sandbox) Start(cmd *exec.Cmd, options Options) (*Process, error) {
	if options.Layer {
		return nil, ErrUnconfined
	}
	run := &exec.Cmd{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Stdin: cmd.Stdin, Stdout: cmd.Stdout, Stderr: cmd.Stderr,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if run.Env == nil {
		run.Env = []string{} // nothing of artoo's own
	}
	if run.Dir == "" {
		run.Dir = s.config.Root
	}
	if s.facts.Mechanism == SandboxExec {
		if err := s.wrap(run, options); err != nil {
			return nil, fmt.Errorf("sandbox: %w", err)
		}
	}
	p := &Process{sandbox: s, cmd: run, grace: options.Grace, still: options.ReadOnly}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := run.Start(); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	s.runs[p] = true
	return p, nil
}

// wrap has the command run by sandbox-exec.
func (s *Sandbox) wrap(run *exec.Cmd, options Options) (err error) {
	var denied, protected []string
	if s.config.Denied != nil {
		if denied, err = s.config.Denied(); err != nil {
			return err
		}
	}
	if s.config.Protected != nil {
		if protected, err = s.config.Protected(); err != nil {
			return err
		}
	}
	run.Args = append([]string{sandboxExec, "-p", profile(s.config, options, denied, protected), run.Path}, run.Args[1:]...)
	run.Path = sandboxExec
	run.Env = append(run.Env, "TMPDIR="+filepath.Join(s.config.Temp, "tmp"))
	for _, cache := range s.config.Caches {
		if cache.Env != "" {
			run.Env = append(run.Env, cache.Env+"="+cache.Own)
		}
	}
	return nil
}

// Wait waits until the command has ended, and ends the rest of its session.
func (p *Process) Wait() (Exit, error) {
	err := p.cmd.Wait()
	p.sandbox.mu.Lock()
	delete(p.sandbox.runs, p)
	p.sandbox.mu.Unlock()
	if p.cmd.ProcessState == nil {
		return Exit{}, fmt.Errorf("sandbox: %w", err)
	}
	exit := Exit{Status: p.cmd.ProcessState.Sys().(syscall.WaitStatus)}
	if p.still && exit.Status != 0 { // the system does not name the refused file
		exit.Denials = []Denial{{Kind: DenialWrite, What: "it failed where nothing may be written", N: 1}}
	}
	deadline := time.Now().Add(p.grace)
	for p.Signal(0) == nil && time.Now().Before(deadline) {
		time.Sleep(5 * time.Millisecond) // no event reports that a group is empty
	}
	if p.Kill() == nil {
		exit.Stopped = 1 // at least
	}
	return exit, nil
}

// Signal sends a signal to the processes of the command's group.
func (p *Process) Signal(signal syscall.Signal) error {
	return syscall.Kill(-p.cmd.Process.Pid, signal)
}

// Kill ends the processes of the command's group at once.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

// Protect does nothing: the profile goes by paths.
func (p *Process) Protect() error { return nil }

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
