// Package confine lets an agent's commands run in the sandbox and on layers: it knows which
// places of this machine they need, and starts the sandbox when the first one comes.
package confine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
)

// background is how long processes that a command left in the background may still write, as in
// shell.DefaultWaits.
const background = 200 * time.Millisecond

// Line is how one command runs confined. Paths are absolute.
type Line struct {
	Place  sandbox.Place
	Exec   bool     // the project's own programs may run
	Hidden []string // It must not see these either.
	// Outputs are the project's directories that a background command may write; Whole is all of it, except files that
	// programs run or obey automatically.
	Outputs []string
	Whole   bool
}

// Confined is a command that runs confined. The methods below hold once it has ended.
type Confined interface {
	shell.Started
	Denials() []sandbox.Denial      // Denials lists refused acts. It may be called while the command runs.
	Hides(path string) bool         // Hides reports whether it could not see an absolute path of the machine.
	Wrote(ctx context.Context) bool // reports whether it changed something on its layer by now
	Protect() error                 // makes files that programs run read-only again: a landing replaced files
	Limit() string                  // the limit that ended it, in words; "" for none
	// Changes are those on its layer; they hold the layer until Discard. An error gives the
	// layer up.
	Changes(ctx context.Context) (Changes, error)
	Discard() error
}

// Changes are those of a command on a layer.
type Changes interface {
	List() []sandbox.Change
	Stays() []string // Stays lists absolute paths that it could not see in directories that it removed.
	// Open opens the new content of the regular file at an absolute path.
	Open(path string) (*os.File, error)
	// Path is where that content lies, if it may be renamed from there; "" has it copied.
	Path(path string) string
	// Discard gives the layer up; with keepCaches, the command's cache files stay for the next one.
	Discard(keepCaches bool) error
}

// Confiner is the sandbox of one session. Make one with New.
type Confiner struct {
	config Config
	given  Config // It is never written, so that any goroutine may read it.
	facts  sandbox.Facts

	start   sync.Once
	temp    *tempdir.Dir // nil before the first command
	sandbox *sandbox.Sandbox
	broken  error // why it could not be started

	servers struct {
		once     sync.Once
		confiner *Confiner // confines MCP servers; nil before the first one
		broken   error
	}
}

// New makes a Confiner. facts are the machine's abilities. Nothing is started before the
// first command.
func New(config Config, facts sandbox.Facts) *Confiner {
	return &Confiner{config: config, given: config, facts: facts}
}

// open starts the sandbox.
func (c *Confiner) open() error {
	c.start.Do(func() {
		var err error
		if c.temp, err = tempdir.Make(""); err != nil {
			c.broken = err
			return
		}
		c.config.Temp = c.temp.Path
		config, err := c.config.inside()
		if err == nil {
			c.sandbox, err = sandbox.Open(context.Background(), config, c.facts)
		}
		c.broken = err
	})
	return c.broken
}

// Start starts a command in a place other than the host.
func (c *Confiner) Start(cmd *exec.Cmd, line Line) (Confined, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	return c.run(cmd, sandbox.Options{
		Layer:    line.Place == sandbox.PlaceLayer || line.Place == sandbox.PlaceDiscarded,
		ReadOnly: line.Place == sandbox.PlaceReadOnly,
		Job:      line.Place == sandbox.PlaceBackground, Outputs: line.Outputs, Whole: line.Whole,
		Hidden: line.Hidden, Exec: line.Exec, Grace: background,
	})
}

// StartServer starts a language server, which runs code of the project and writes only to artoo's caches.
func (c *Confiner) StartServer(cmd *exec.Cmd) (shell.Started, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	if c.facts.Layer && c.config.Home != "" && c.config.Cache != "" { // caches are mounted
		cmd.Env = append(slices.Clip(cmd.Env), "CARGO_TARGET_DIR="+c.config.cargoTarget())
	}
	return c.run(cmd, sandbox.Options{Job: true, Exec: true})
}

// StartMCP starts an MCP server: it writes the whole project except files that programs run automatically, has an empty
// home, and keeps the machine's network. The error is a HiddenError where the sandbox does not show its program. On a
// layer it writes all of the project there, and the project itself does not change.
func (c *Confiner) StartMCP(cmd *exec.Cmd, onLayer bool) (Confined, error) {
	c.servers.once.Do(func() { c.servers.confiner, c.servers.broken = c.networked() })
	if c.servers.broken != nil {
		return nil, c.servers.broken
	}
	program := cmd.Path
	if !filepath.IsAbs(program) {
		program = filepath.Join(cmd.Dir, program)
	}
	if at := c.servers.confiner.sandbox; at.Hides(program) {
		return nil, HiddenBy(at.Hides, program)
	}
	if onLayer {
		return c.servers.confiner.run(cmd, sandbox.Options{Layer: true, Exec: true, Grace: background})
	}
	return c.servers.confiner.run(cmd, sandbox.Options{Job: true, Whole: true, Exec: true})
}

// HiddenError says that a file is there, and that the sandbox does not show it.
type HiddenError struct{ Path, Dir string } // Dir shows it, once it is one of the toolchains

// HiddenBy is the error for an absolute path that is hidden.
func HiddenBy(hides func(path string) bool, path string) HiddenError {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && !hides(dir) {
		dir = filepath.Dir(real) // a link that leads out of sight
	}
	return HiddenError{path, dir}
}

func (e HiddenError) Error() string { return e.Path + " is hidden in the sandbox" }

// Hint says how to show the file.
func (e HiddenError) Hint() string {
	return "[permissions] toolchains or ARTOO_TOOLCHAINS shows its directory " + e.Dir
}

// networked is the same sandbox with the machine's network, whose caches and temporary files are
// apart. It is open.
func (c *Confiner) networked() (*Confiner, error) {
	config := c.given
	config.Network, config.Loopback = true, nil
	if config.Cache != "" {
		config.Cache = filepath.Join(config.Cache, "servers")
	}
	other := New(config, c.facts)
	if err := other.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", errors.Join(err, other.Close()))
	}
	return other, nil
}

func (c *Confiner) run(cmd *exec.Cmd, options sandbox.Options) (Confined, error) {
	cmd.Env = c.config.environ(cmd.Env)
	process, err := c.sandbox.Start(cmd, options)
	if err != nil {
		return nil, err
	}
	return follow(process), nil
}

// Close ends the sandbox and all that still runs in it.
func (c *Confiner) Close() error {
	c.start.Do(func() { c.broken = errors.New("the session is over") })
	c.servers.once.Do(func() { c.servers.broken = errors.New("the session is over") })
	var err error
	if c.servers.confiner != nil {
		err = c.servers.confiner.Close()
	}
	if c.sandbox != nil {
		err = errors.Join(err, c.sandbox.Close())
	}
	if c.temp != nil {
		err = errors.Join(err, c.temp.Remove())
	}
	return err
}

// command is a command in the sandbox.
type command struct {
	*sandbox.Process
	done chan struct{}
	exit sandbox.Exit // once done is closed
	err  error
}

// follow waits for the end of a process in a goroutine of its own.
func follow(process *sandbox.Process) *command {
	r := &command{Process: process, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.exit, r.err = r.Process.Wait()
	}()
	return r
}

func (r *command) Done() <-chan struct{} { return r.done }

func (r *command) Exit() shell.Exit {
	switch status := r.exit.Status; {
	case r.err != nil:
		return shell.Exit{Signal: "SIGKILL"} // the sandbox went away, and the command with it
	case status.Signaled():
		return shell.Exit{Code: -1, Signal: shell.SignalName(int(status.Signal()))}
	default:
		return shell.Exit{Code: status.ExitStatus()}
	}
}

// Signal passes a signal on. One that cannot be sent came after the command's end.
func (r *command) Signal(signal syscall.Signal) { _ = r.Process.Signal(signal) }

// Runs reports whether it, or anything that it started, runs.
func (r *command) Runs() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (r *command) KillAll() (stopped, left int) {
	if r.Runs() {
		_ = r.Process.Kill() // it may have ended meanwhile
		<-r.done
	}
	return r.exit.Stopped, 0
}

// Release frees nothing: a command leaves only its layer.
func (r *command) Release() {}

func (r *command) Limit() string { return r.exit.Limit }

func (r *command) Changes(ctx context.Context) (Changes, error) {
	if r.err != nil {
		return nil, r.err
	}
	found, err := r.Process.Changes(ctx)
	if err != nil {
		return nil, err
	}
	return &changes{Changes: found}, nil
}

type changes struct {
	*sandbox.Changes
	gone bool
}

func (c *changes) List() []sandbox.Change { return c.Entries }

func (c *changes) Stays() []string { return c.Changes.Stays }

// Discard throws the layer away; further calls do nothing.
func (c *changes) Discard(keepCaches bool) error {
	if c.gone {
		return nil
	}
	c.gone = true
	var err error
	if keepCaches {
		err = c.Changes.KeepCaches()
	}
	return errors.Join(err, c.Changes.Discard())
}
