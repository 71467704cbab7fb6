// Package confine lets an agent's commands run in the sandbox and on layers: it
// knows which places of this machine a session's commands need, starts the sandbox
// when the first one comes, and applies what a layer holds through the journal.
package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// background is how long what a command left in the background may still write: as
// long as on the host, see shell.DefaultWaits.
const background = 200 * time.Millisecond

// Confiner is the sandbox of one session. Make one with New.
type Confiner struct {
	config Config
	facts  sandbox.Facts

	start   sync.Once
	sandbox *sandbox.Sandbox
	broken  error            // why it could not be started
	mu      sync.Mutex       // held while a command is started, with what follows
	layer   *changes         // that was not discarded yet
	place   permission.Place // of the command that is about to start
	others  *othersRun       // what others run
	warm    sync.WaitGroup   // looks at the project ahead of the first command
	before  *[]string        // what of it there was when the last command started; nil where that was of no matter
}

var _ agent.Sandbox = (*Confiner)(nil)

// New makes a Confiner. facts are what the machine can do in the session's
// directories. Nothing is started before the first command.
func New(config Config, facts sandbox.Facts) *Confiner {
	return &Confiner{config: config, facts: facts, others: newOthersRun([]string{config.Root}, config.Named)}
}

// Warm looks at the project in the background, so that the first command, which waits
// for it, finds less to do: of each file it has to be known whether it has a name
// elsewhere. To be called before the first command, if at all.
func (c *Confiner) Warm() {
	c.warm.Go(func() {
		_, _ = c.others.finder.Find(c.config.Root) // what fails here fails for the first command, too
	})
}

// open starts the sandbox.
func (c *Confiner) open() error {
	c.start.Do(func() {
		var err error
		if c.config.temp, err = os.MkdirTemp("", "artoo-"); err != nil {
			c.broken = err
			return
		}
		config, err := c.config.sandbox()
		config.Denied, config.Protected = c.denied, c.protected
		c.warm.Wait()
		c.others.roots = append(c.others.roots, config.Write...)
		if err == nil {
			c.sandbox, err = sandbox.Open(context.Background(), config, c.facts)
		}
		c.broken = err
	})
	return c.broken
}

// denied lists what the command that is about to start must not see.
func (c *Confiner) denied() ([]string, error) {
	list, err := c.config.denied()
	if err != nil || c.place == permission.PlaceReading || c.config.Stores == nil {
		return list, err
	}
	stores, err := c.config.Stores()
	return append(list, stores...), err
}

// protected lists what others run and what leads outside of the project, as it is
// before a command starts.
func (c *Confiner) protected() ([]string, error) {
	list, outside, err := c.others.look()
	if err != nil {
		return nil, err
	}
	c.before = &list
	if c.place == permission.PlaceSandbox && c.config.Starting != nil {
		err = c.config.Starting(list)
	}
	return slices.Concat(list, outside), err
}

// Start implements agent.Sandbox.
func (c *Confiner) Start(cmd *exec.Cmd, place permission.Place) (agent.Confined, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.layer != nil { // of a call that was given up
		if err := c.layer.Discard(); err != nil {
			return nil, fmt.Errorf("the last layer is still there: %w", err)
		}
	}
	return c.run(cmd, place, sandbox.Options{
		Layer:    place == permission.PlaceLayer || place == permission.PlaceDiscarded,
		ReadOnly: place == permission.PlaceReading,
		Exec:     place == permission.PlaceDiscarded || c.config.trusted(),
		Caches:   place == permission.PlaceDiscarded, Grace: background,
	})
}

// StartServer starts a language server, which reads the project beside the commands
// of the session and runs what it brings. It writes nothing but artoo's caches.
func (c *Confiner) StartServer(cmd *exec.Cmd) (shell.Started, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	if c.facts.Layer && c.config.Home != "" && c.config.Cache != "" { // caches are mounted
		cmd.Env = append(slices.Clip(cmd.Env), "CARGO_TARGET_DIR="+c.config.cargoTarget())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.run(cmd, permission.PlaceDiscarded, sandbox.Options{ReadOnly: true, Beside: true, Exec: true, Caches: true})
}

func (c *Confiner) run(cmd *exec.Cmd, place permission.Place, options sandbox.Options) (agent.Confined, error) {
	c.place, c.before = place, nil
	cmd.Env = c.config.environ(cmd.Env, c.facts.Mechanism)
	process, err := c.sandbox.Start(cmd, options)
	if err != nil {
		return nil, err
	}
	r := &command{confiner: c, before: c.before, line: cmd.Args[len(cmd.Args)-1], process: process, done: make(chan struct{})}
	go r.await()
	return r, nil
}

// Close ends the sandbox and all that still runs in it.
func (c *Confiner) Close() error {
	c.start.Do(func() { c.broken = errors.New("the session is over") })
	var err error
	if c.layer != nil {
		err = c.layer.Discard()
	}
	if c.sandbox != nil {
		err = errors.Join(err, c.sandbox.Close())
	}
	if c.config.temp != "" {
		err = errors.Join(err, removeAll(c.config.temp))
	}
	return err
}

// command is a command in the sandbox.
type command struct {
	confiner *Confiner
	line     string // the shell line
	process  *sandbox.Process
	before   *[]string // files that others run, which were there when it started; nil where it can make none
	done     chan struct{}
	exit     sandbox.Exit // once done is closed
	err      error
}

// await waits for the end.
func (r *command) await() {
	defer close(r.done)
	r.exit, r.err = r.process.Wait()
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

// Signal passes a signal on. One that cannot be sent finds nobody: it has ended.
func (r *command) Signal(signal syscall.Signal) { _ = r.process.Signal(signal) }

// Runs reports whether anything of it runs: the command counts as ended once all it
// started has.
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
		_ = r.process.Kill() // it may have ended meanwhile
		<-r.done
	}
	return r.exit.Stopped, 0
}

// Release has nothing to give back: what a command leaves is the layer.
func (r *command) Release() {}

func (r *command) Denials() []sandbox.Denial { return r.exit.Denials }
func (r *command) Limit() string             { return r.exit.Limit }

// Appeared implements agent.Confined.
func (r *command) Appeared() ([]string, error) {
	if r.before == nil {
		return nil, nil
	}
	return r.confiner.others.since(*r.before)
}

// Remove implements agent.Confined.
func (r *command) Remove(paths []string) error { return r.confiner.others.remove(paths) }

// Changes implements agent.Confined.
func (r *command) Changes() (agent.Changes, error) {
	if r.err != nil {
		return nil, r.err
	}
	found, err := r.process.Changes()
	if err != nil {
		return nil, err
	}
	c := &changes{confiner: r.confiner, line: r.line, found: found}
	r.confiner.layer = c
	return c, nil
}

// removeAll removes a directory. The kernel leaves the work directory of a layer
// without any permission, which keeps all but root from looking into it.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return err
	})
	return errors.Join(err, os.RemoveAll(dir))
}
