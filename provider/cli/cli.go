// Package cli makes providers of coding CLIs that are installed and logged in on the user's machine:
// claude, codex and gemini. They are second class: a reply is a whole run of the tool, with its own tools,
// its own prompt and its own rules; artoo shows its steps and decides nothing. Each run is one process with
// JSON lines on its standard output. The tool's session is resumed by the next message.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/provider"
	"artoo/tool/environ"
)

// The names of the providers.
const (
	ClaudeName = "claude-cli"
	CodexName  = "codex-cli"
	GeminiName = "gemini-cli"
)

// DefaultModel stands for the model that the tool takes by itself.
const DefaultModel = "default"

// CLI is a Provider that runs a coding CLI. Its fields must not change once it is in use.
// It uses Model, Effort, Messages and SessionID of a Request. A Retrier must not repeat a
// failed run: the tools retry by themselves, and would repeat their changes.
type CLI struct {
	Name    string       // ClaudeName, CodexName or GeminiName
	Dir     string       // where the tool works
	Root    string       // the project's root, Dir or above it; "" is Dir
	Own     environ.Vars // artoo's own variables, by which the tool is looked up
	Environ []string     // all of the tool's environment, see Environ
	// Mode is artoo's approval mode, asked before each run: the tool may edit in edits and auto. nil
	// means that it only reads.
	Mode func() string
	// Reads is asked before each run for more directories that the tool may read; or nil.
	Reads func() []string
	// Trusted is asked before each run whether the tool gets the project's settings, hooks
	// and servers. The error, shown once, says why no longer. nil means never.
	Trusted func() (bool, error)
	// Instructions begin each of the tool's sessions; may be "".
	Instructions string
	// Announce makes the first reply begin with a notice of whose rules hold.
	Announce bool
	// Idle is the longest silence of the tool: 0 means 30 minutes, less than 0 no limit.
	Idle time.Duration
	// Limit is the longest time of one run; 0 means no limit.
	Limit time.Duration
	// MaxRetry is how long claude may wait in all to send one request again: 0 means 2 minutes, less
	// than 0 not at all.
	MaxRetry time.Duration
	// Caps is asked before each run; nil means that there are none.
	Caps func() Caps
	// Trace gets each run ("request") and line ("body"); may be nil.
	Trace func(event, text string)
	// Withheld are variables with keys of the tool's that Environ left out.
	Withheld []string
	Catalog  *provider.Catalog // has the prices; nil is the built-in one

	timeouts *timeouts // nil means the usual

	mu       sync.Mutex
	notified bool              // the user knows whose rules hold
	broken   map[string]broken // runs that were cut off, by Request.SessionID
	leaving  []<-chan struct{} // closed when the processes of a stopped run are gone
	capped   bool              // the user was notified of caps that are not kept
	changed  string            // why the project's settings are left out now, as in the notice to the user
	policy   string            // the file of the dialect's policy, "" until it is needed
}

// Caps bound a run; zero is no cap. claude keeps them itself, others are checked afterwards.
type Caps struct {
	Money  float64 // US dollars
	Tokens int
	Steps  int // requests to the model
}

// broken is a run that was cut off; the history has only its text.
type broken struct {
	session session
	heard   string // the message it was given
}

type timeouts struct {
	end       time.Duration // after its last event, until it is ended
	interrupt time.Duration // after SIGINT, until SIGTERM
	terminate time.Duration // after SIGTERM, until SIGKILL; a second at most where the reply is whole
	quiet     time.Duration // silent wait of the next run
	still     time.Duration // silence between notices to the user; 0 for no notices
	stuck     time.Duration // limit for reporting only a broken connection
}

var usual = timeouts{quiet: time.Second, still: 2 * time.Minute, end: 5 * time.Second, interrupt: 5 * time.Second,
	terminate: 5 * time.Second, stuck: 2 * time.Minute}

// Check returns a *provider.Error if the tool is not installed. It runs nothing.
func (c *CLI) Check() error {
	d := dialects[c.Name]
	if d == nil {
		return c.unknown()
	}
	_, err := c.path(d)
	return err
}

// Rules says in one line whose rules hold in a mode; trusted means that the project's
// settings count.
func Rules(name, mode string, trusted bool) string {
	d := dialects[name]
	if d == nil {
		return ""
	}
	what := d.reads
	if mayEdit(mode) {
		what = d.edits
	}
	if mode == "auto" {
		what += ", as in edits, since nothing of artoo's confines it"
	}
	if trusted {
		what += "; the settings and hooks of this project hold, since you trust it"
	}
	return fmt.Sprintf("%s runs its own tools by its own rules, not artoo's: in mode %s %s", d.program, mode, what)
}

func mayEdit(mode string) bool { return mode == "edits" || mode == "auto" }

func (c *CLI) mode() string {
	if c.Mode == nil {
		return "ask"
	}
	return c.Mode()
}

func (c *CLI) caps() Caps {
	if c.Caps == nil {
		return Caps{}
	}
	return c.Caps()
}

func (c *CLI) waits() timeouts {
	if c.timeouts == nil {
		return usual
	}
	return *c.timeouts
}

// Stream implements provider.Provider. A cancelled run is interrupted, and may take a moment to end.
func (c *CLI) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		d := dialects[c.Name]
		if d == nil {
			yield(nil, c.unknown())
			return
		}
		r := &run{CLI: c, dialect: d, ctx: ctx, req: req, yield: yield}
		err := c.waitStopped(ctx, func() { r.notify("waiting for " + d.program + ", which was stopped, to end") })
		switch {
		case r.left:
			return
		case err != nil:
			yield(nil, c.canceled(ctx))
			return
		}
		err = r.once(c.plan(d, req, false))
		if r.lost && !r.left {
			r.notify(d.program + " no longer knows its session; it gets the conversation so far again")
			err = r.once(c.plan(d, req, true))
		}
		if err != nil && !r.left {
			yield(nil, err)
		}
	}
}

// Wait implements provider.Waiter: it waits until the processes of stopped runs are gone.
func (c *CLI) Wait() {
	_ = c.waitStopped(context.Background(), func() {})
}

// Close waits as Wait does, and removes the files of the runs.
func (c *CLI) Close() {
	c.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.policy != "" {
		_ = os.Remove(c.policy) // a small temporary file may stay
		c.policy = ""
	}
}

// policyFile is the path of a file that holds the dialect's policy, or "".
func (c *CLI) policyFile(d *dialect) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d.policy == "" {
		return "", nil
	}
	if held, err := os.ReadFile(c.policy); c.policy != "" && err == nil && string(held) == d.policy {
		return c.policy, nil
	}
	f, err := os.CreateTemp(c.Own.TempDir(), "artoo-policy-*.toml")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(d.policy)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	c.policy = f.Name()
	return c.policy, nil
}

func (c *CLI) place() place { return place{c.Dir, cmp.Or(c.Root, c.Dir)} }

// opens are the directories beside Dir that the tool may use.
func (c *CLI) opens() (dirs []string) {
	if p := c.place(); p.root != p.dir {
		dirs = append(dirs, p.root)
	}
	if c.Reads != nil {
		dirs = append(dirs, c.Reads()...)
	}
	return dirs
}

func (c *CLI) home() string { return c.variable("HOME") }

// variable is a variable of the tool's environment, or "".
func (c *CLI) variable(name string) string {
	for _, kv := range c.Environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// waitStopped waits until stopped runs are gone. late is called once, when that takes a while.
func (c *CLI) waitStopped(ctx context.Context, late func()) error {
	c.mu.Lock()
	leaving := slices.Clone(c.leaving)
	c.mu.Unlock()
	quiet := time.NewTimer(c.waits().quiet)
	defer quiet.Stop()
	for len(leaving) > 0 {
		select {
		case <-leaving[0]:
			leaving = leaving[1:]
		case <-quiet.C:
			late()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func (c *CLI) leave(p *process) {
	gone := make(chan struct{})
	c.mu.Lock()
	c.leaving = append(c.leaving, gone)
	c.mu.Unlock()
	go func() {
		p.stop(c.waits())
		c.mu.Lock()
		defer c.mu.Unlock()
		c.leaving = slices.DeleteFunc(c.leaving, func(other <-chan struct{}) bool { return other == gone })
		close(gone)
	}()
}

// announce is the notice of whose rules hold, "" when it was given.
func (c *CLI) announce(trusted bool) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.notified || !c.Announce {
		return ""
	}
	c.notified = true
	return Rules(c.Name, c.mode(), trusted)
}

func (c *CLI) path(d *dialect) (string, error) {
	path, err := c.Own.LookPath(d.program)
	if err != nil {
		why := d.program + " is not installed, or not on PATH"
		return "", c.fault(provider.KindConfig, why, d.install+", then log in: "+d.login, err)
	}
	return path, nil
}

func (c *CLI) fault(kind provider.ErrorKind, message, hint string, err error) *provider.Error {
	return &provider.Error{Kind: kind, Provider: c.Name, Message: message, Hint: hint, Retry: new(false), Err: err}
}

func (c *CLI) unknown() error {
	return c.fault(provider.KindConfig, "there is no such coding CLI", ClaudeName+", "+CodexName+" or "+GeminiName, nil)
}

func (c *CLI) canceled(ctx context.Context) *provider.Error {
	err := ctx.Err()
	if cause := context.Cause(ctx); cause != nil && cause != err {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return c.fault(provider.KindCanceled, "stopped", "", err)
}

// version asks the tool for its version, or "".
func (c *CLI) version(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env, cmd.Dir, cmd.WaitDelay = c.Environ, c.Dir, time.Second
	out, err := cmd.Output()
	if err != nil {
		return "" // a tool that cannot even report its version is judged by its earlier message
	}
	return versionIn(string(out))
}

// old is the error of a tool that is too old, else nil. said is its output in lower case.
func (c *CLI) old(d *dialect, version, said string) *provider.Error {
	if version == "" {
		return nil
	}
	why := ""
	if less(version, d.least) {
		why = fmt.Sprintf("%s %s is too old: %s or newer is needed", d.program, version, d.least)
	}
	for option, least := range d.since {
		if why == "" && strings.Contains(said, option) && less(version, least) {
			why = fmt.Sprintf("%s %s is too old for %s: %s or newer is needed", d.program, version, option, least)
		}
	}
	if why == "" {
		return nil
	}
	return c.fault(provider.KindConfig, why, d.install, nil)
}
