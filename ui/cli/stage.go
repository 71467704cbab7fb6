package cli

// One stage of a pipeline: a headless run.

import (
	"cmp"
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent"
	"artoo/tool/sandbox"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/screen"
)

// outcome is what a headless run came to, for its result and its exit code.
type outcome struct {
	asked    headless.Format // the format of stdout; "" where there is no answer
	approve  headless.Asker  // approves the demo's own calls; nil otherwise
	stdin    string          // it says what became of standard input
	signals  *headless.Signals
	response atomic.Pointer[agent.Response]
	printed  sync.Once // the result object
}

// requestedFormat is the output format as far as flags and environment tell it, before
// the settings are read: what is wrong with them is an exit in JSON too.
func (a *app) requestedFormat() headless.Format {
	format := headless.Format(os.Getenv("ARTOO_OUTPUT"))
	if given := a.flags["output"]; len(given) > 0 {
		format = headless.Format(given[len(given)-1])
	}
	if format != headless.JSON && format != headless.JSONL {
		return headless.Text
	}
	return format
}

// format is what stdout holds.
func (a *app) format() headless.Format {
	switch {
	case a.outcome.asked == "":
	case a.cfg == nil:
		return a.outcome.asked
	case a.streams.headless:
		return headless.Format(a.cfg.Output)
	}
	return headless.Text
}

// canAsk reports whether somebody can be asked beside a pipe.
func (a *app) canAsk() bool { return !bool(a.cfg.Print) && a.streams.watched }

// unanswered reports whether questions get no answer in this session.
func (a *app) unanswered() bool {
	return a.streams.headless && !a.canAsk() && a.outcome.approve == nil
}

// headless runs one message.
func (a *app) headless(ctx context.Context, prompt string, dash bool) error {
	if prompt == "" && !dash && !bool(a.cfg.Print) && a.streams.in && !a.streams.err {
		return usage("stderr", "not a terminal, and a conversation needs one there",
			"artoo | tee log, which keeps the answers; script log, then artoo, which keeps the whole screen")
	}
	// They are watched to the end of the process: between two signals the result
	// object is still to be written.
	ctx, a.outcome.signals = headless.Watch(ctx, a.process.Out, a.process.Err)
	a.lastWords()
	a.watchQuit()
	if err := a.open(ctx); err != nil {
		return err
	}
	defer a.close()
	if line := a.ignored(); line != "" {
		a.warn(line)
	}
	if line := a.unused(); line != "" {
		a.screen.Note(line)
	}
	message := ui.Expand(ctx, a.agent.Env(), prompt)
	for _, note := range message.Notes {
		a.screen.Note(note)
	}
	in := headless.Stdin{
		File: a.process.In, Mode: headless.StdinMode(a.cfg.Stdin), Prompt: message.Text, Dash: dash,
		Patient: a.streams.watched, Wait: time.Duration(a.cfg.StdinWait),
		Max: int64(a.cfg.StdinMax), Dir: a.agent.OutputDir(), Notice: func(text string) { a.screen.Note(text) },
	}
	if a.cfg.MaxTime > 0 {
		in.Until = a.began.Add(time.Duration(a.cfg.MaxTime))
	}
	input, err := in.Read(ctx)
	if err != nil {
		return err
	}
	a.outcome.stdin = input.State
	a.agent.Spend(time.Since(a.began))
	r := &headless.Runner{Agent: a.agent, Format: headless.Format(a.cfg.Output), Out: a.process.Out, Screen: a.screen,
		Ask: a.outcome.approve, Info: a.info(), Stopped: a.broken}
	if r.Ask == nil && a.canAsk() {
		profile, _ := screen.ProfileDecision(a.cfg.UI, os.Getenv, a.streams.err)
		notify, err := a.notifier(a.cfg.Notify, profile)
		if err != nil {
			return err
		}
		defer notify.Close()
		r.Ask = ui.AskOnTTY(a.screen, notify)
	}
	a.lastWords()
	response, failure := r.Run(ctx, input.Text, message.Parts...)
	a.outcome.response.Store(response)
	switch {
	case failure != nil:
		return failure
	case input.Late():
		return usage("stdin", "input came after the run had gone on without it",
			"--stdin never, or a longer ARTOO_STDIN_WAIT")
	}
	return nil
}

// lastWords lets a second signal find the result object printed. What it says is
// taken now: the run goes on beside it.
func (a *app) lastWords() {
	info, signals := a.info(), a.outcome.signals
	signals.Last(func() {
		failure := agent.Classify(&headless.SignalError{Signal: signals.Caught()})
		_ = a.printResult(info, failure, signals.Code()) // the process dies next
	})
}

func (a *app) info() headless.Info {
	session := ""
	if a.agent != nil {
		session = a.agent.SessionID()
	}
	return headless.Info{SessionID: session, Provider: a.choice.Provider, Model: a.choice.Model, Sandbox: string(cmp.Or(a.facts.Mechanism, sandbox.None)),
		Stdin: a.outcome.stdin, Began: a.began}
}
