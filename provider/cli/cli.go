// Package cli makes providers of coding CLIs that are installed and logged in on the user's machine:
// claude, codex and gemini. They are second class: a reply is a whole run of the tool, with its own tools,
// its own prompt and its own rules; artoo shows its steps and decides nothing. Each run is one process with
// JSON lines on its standard output. The tool's session is resumed by the next message.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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

// Silence is how long a tool at work may be silent, unless the user says otherwise.
const Silence = 30 * time.Minute

// Unlimited is a time that no run takes.
const Unlimited = 1_000_000 * time.Hour

// CLI is a Provider that runs a coding CLI. Its fields must not change once it is in use.
// It uses Model, Effort, Messages and SessionID of a Request. A Retrier must not repeat a
// failed run: the tools retry by themselves, and would repeat their changes.
type CLI struct {
	// Name is ClaudeName, CodexName or GeminiName.
	Name string
	// Dir is where the tool works, Root the project's root: Dir or above it.
	Dir, Root string
	// Own are artoo's own variables, by which the tool is looked up.
	Own environ.Vars
	// Environ is all of the tool's environment, Withheld the variables with keys of the tool's that are not in it:
	// see Environ.
	Environ  environ.Vars
	Withheld []string
	// Terms is asked before each run.
	Terms func() Terms
	// Instructions begin each of the tool's sessions; may be "".
	Instructions string
	// Announce makes the first reply begin with a notice of whose rules hold.
	Announce bool
	// Idle is the longest time without an event of the tool's work, Limit that of one run; see Unlimited. MaxRetry is
	// how long claude may wait in all to send one request again.
	Idle, Limit, MaxRetry time.Duration
	// Trace gets each run ("request") and line ("body").
	Trace func(event, text string)
	// Catalog has the prices; nil is the built-in one.
	Catalog *provider.Catalog

	waits timeouts
	// told has the notices that the user has seen, which come once.
	told sync.Map
	// silent has the sessions of runs that ended without an answer, by Request.SessionID.
	silent sync.Map
	// leaving is held for reading while the processes of a stopped run end. A WaitGroup would not do: a run may be
	// stopped while another waits.
	leaving sync.RWMutex
}

// Terms are what holds for one run.
type Terms struct {
	// Mode is artoo's approval mode: the tool may edit in edits and auto.
	Mode string
	// Reads are more directories that the tool may read.
	Reads []string
	// Trusted means that the tool gets the project's settings, hooks and servers. Untrusted, shown once, says why
	// no longer.
	Trusted   bool
	Untrusted error
	// Money in US dollars, Tokens and Steps, which are requests to the model, bound the run; 0 is no cap. claude keeps
	// those of money and steps itself, others are checked afterwards.
	Money         float64
	Tokens, Steps int
}

// timeouts are the waits for a tool's end: 0 of each is its usual one.
type timeouts struct {
	// end is the time after its last event, interrupt that after SIGINT, terminate that after SIGTERM.
	end, interrupt, terminate time.Duration
}

const usualWait = 5 * time.Second

// Check returns a *provider.Error if the tool is not installed. It runs nothing.
func (c *CLI) Check() error {
	_, err := c.path()
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
		what += ", as in edits, because artoo's sandbox does not confine it"
	}
	if trusted {
		what += "; the settings and hooks of this project apply, since you trust it"
	}
	return fmt.Sprintf("%s runs its own tools by its own rules, not artoo's: in mode %s %s", d.program, mode, what)
}

func mayEdit(mode string) bool { return mode == "edits" || mode == "auto" }

// Stream implements provider.Provider. A cancelled run is interrupted, and may take a moment to end.
func (c *CLI) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		c.Wait()
		r := &run{CLI: c, dialect: dialects[c.Name], ctx: ctx, req: req, yield: yield, terms: c.Terms()}
		err := r.once(r.resumed())
		if r.lost && !r.left {
			r.notify(r.program + " no longer knows its session; it gets the conversation so far again")
			err = r.once(session{}, 0)
		}
		if err != nil && !r.left {
			yield(nil, err)
		}
	}
}

// Wait implements provider.Waiter: it waits until the processes of stopped runs are gone.
func (c *CLI) Wait() {
	c.leaving.Lock()
	defer c.leaving.Unlock()
}

// root is the project's root, which need not be set.
func (c *CLI) root() string { return cmp.Or(c.Root, c.Dir) }

func (c *CLI) path() (string, error) {
	d := dialects[c.Name]
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
