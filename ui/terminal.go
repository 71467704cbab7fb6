// Package ui is the conversation in a terminal: lines scroll, and only the rows
// of the prompt being edited move. Terminal reads a line, runs a slash command
// or a turn of the agent with it, and shows the next prompt. Package screen does
// all showing and package prompt all reading.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// leaveWait is how long a second Ctrl-C still leaves.
const leaveWait = 2 * time.Second

// Exit codes that Run returns in addition to 0 and those of signals.
const (
	exitError     = 1
	exitInterrupt = 130
)

// Run holds the conversation until it ends and returns the exit code: 0 when the user leaves or
// the input ends, 130 for Ctrl-C twice, 128 and the number of a signal. The terminal's modes
// are then as they were found, also when Run panics. ctx ends the conversation too. An error is
// one of the terminal itself; those of turns are shown.
func (t *Terminal) Run(ctx context.Context) (code int, err error) {
	if t.prompt, err = prompt.Open(t.opt.Options); err != nil {
		return exitError, err
	}
	t.began.Store(true)
	if lost := t.lost.Load(); lost != nil {
		t.prompt.End(*lost)
	}
	defer func() { err = errors.Join(err, t.prompt.Close()) }()
	defer t.prompt.Guard()
	if err := t.askTrust(ctx); err != nil {
		return exitError, err
	}
	if resumed := t.opt.Agent.Resumed(); resumed != nil {
		t.showResumed(resumed)
	}
	if t.opt.First != "" {
		t.Said(t.you(), t.opt.First)
		if err := t.first(ctx); err != nil {
			if code, err := t.leave(err); code >= 0 {
				return code, err
			}
		}
	}
	for {
		l, err := t.readMessage(ctx)
		switch {
		case err == nil:
			err = t.handle(ctx, l)
		case errors.Is(err, io.EOF):
			err = t.runCommand(ctx, "/quit")
		}
		if err != nil {
			if code, err := t.leave(err); code >= 0 {
				return code, err
			}
		}
	}
}

// first handles the message of the command line. A slash at its beginning has a meaning only with the
// name of a skill or command of the user's, or of a server's prompt.
func (t *Terminal) first(ctx context.Context) error {
	l := prompt.Line{Text: t.opt.First}
	if in, ok := t.invocation(l.Text); ok {
		return t.invoke(ctx, in, l)
	}
	if _, _, _, ok := PromptCall(t.opt.Agent.Skills(), l.Text); ok {
		return t.runCommand(ctx, l.Text)
	}
	text, parts := t.attach(ctx, l)
	return t.turn(ctx, text, parts)
}

// leave is the exit code for the error that ended a line or a turn; -1 goes on.
func (t *Terminal) leave(err error) (code int, left error) {
	var signal *prompt.SignalError
	switch {
	case errors.As(err, &signal):
		return signal.Code(), nil
	case errors.Is(err, errLeave), errors.Is(err, errLost), errors.Is(err, io.EOF):
		return 0, nil
	case errors.Is(err, errStuck):
		return exitInterrupt, nil
	case !errors.Is(err, prompt.ErrInterrupted):
		return exitError, err
	}
	t.opt.Sender.Kill()
	now := t.opt.Clock.Now()
	if !t.lastInt.IsZero() && now.Sub(t.lastInt) <= leaveWait {
		return exitInterrupt, nil
	}
	t.lastInt = now
	t.Note("Ctrl-C again or Ctrl-D to leave")
	return -1, nil
}

func (t *Terminal) you() string { return screen.YouIn(t.opt.Agent.Policy().Mode) }

func (t *Terminal) readMessage(ctx context.Context) (prompt.Line, error) {
	initial := t.initial
	t.initial = prompt.Draft{}
	if initial.Text == "" && len(t.returned) > 0 {
		initial, t.returned = t.returned[0], t.returned[1:]
	}
	you := t.you()
	l, err := t.prompt.ReadLine(ctx, prompt.Label{Text: you, Bold: t.Bold(you)}, initial)
	t.echo(l)
	return l, err
}

// echo shows a queued message where it now stands in the conversation.
func (t *Terminal) echo(l prompt.Line) {
	if l.Queued {
		t.Said(t.you(), l.Text)
	}
}

func (t *Terminal) handle(ctx context.Context, l prompt.Line) error {
	t.lastInt = time.Time{}
	if l.Action != prompt.Send {
		return t.act(ctx, l)
	}
	word := strings.TrimSpace(l.Text)
	switch {
	case word == "":
		return nil
	case l.Literal:
	case word == "quit" || word == "exit":
		return t.runCommand(ctx, "/quit")
	case word == "help" || word == "?":
		return t.runCommand(ctx, "/help")
	case strings.HasPrefix(l.Text, "/") && !beginsWithImage(l.Text):
		if in, ok := t.invocation(l.Text); ok {
			return t.invoke(ctx, in, l)
		}
		return t.runCommand(ctx, l.Text)
	case strings.HasPrefix(l.Text, "!"):
		return t.shell(ctx, l.Text)
	case isMemory(l.Text):
		return t.remember(ctx, l.Text)
	}
	text, parts := t.attach(ctx, l)
	return t.turn(ctx, text, append(t.takeShared(), parts...))
}

var errStuck = fmt.Errorf("the turn does not end: %w", context.Canceled)

// signalWait is how long a turn may take to end after a signal.
const signalWait = 2 * time.Second

func (t *Terminal) turn(ctx context.Context, text string, attachments []provider.Part) error {
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		return t.send(ctx, agent.Message{Text: text, Attachments: attachments})
	})
}

// send runs a turn, which lines that the user sends now may join.
func (t *Terminal) send(ctx context.Context, m agent.Message) (*agent.Response, error) {
	if m.Steering = func() []agent.Message { return t.steering(ctx) }; t.program != nil {
		m.Steering = t.program.steering
	}
	return t.opt.Sender.Send(ctx, m, t.callbacks())
}

// callbacks receive the reports of turns.
func (t *Terminal) callbacks() agent.Callbacks {
	if t.program != nil {
		return t.program
	}
	return t
}

// during has the agent work, which Ctrl-C interrupts, and shows how it ended. The error it
// returns ends the conversation.
func (t *Terminal) during(ctx context.Context, work func(context.Context) (*agent.Response, error)) error {
	if t.program != nil {
		response, err := work(ctx)
		t.program.ended(response, err)
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began, waited := t.opt.Clock.Now(), t.Waited()
	stuck := make(chan struct{}, 1)
	if cost := t.opt.Agent.Cost().CostUSD; cost != nil {
		t.spent = *cost // the cost of the session before this turn
	}
	t.prompt.BeginTurn(t.interrupter(cancel, stuck))
	done := make(chan ended, 1)
	go func() {
		defer t.prompt.Guard()
		response, err := work(ctx)
		t.Finish() // a slow terminal takes its time for the answer, and Ctrl-C stops that too
		done <- ended{response, err}
	}()
	var end ended
	select {
	case end = <-done:
	case <-stuck:
		return errStuck
	case <-ctx.Done():
		select {
		case end = <-done:
		case <-stuck:
			return errStuck
		case <-t.died():
			t.opt.Sender.Kill()
			return t.prompt.Over()
		}
	}
	t.prompt.EndTurn(end.err == nil)
	took := t.opt.Clock.Now().Sub(began) - (t.Waited() - waited)
	t.showEnd(ctx, end, took)
	// A prompt may stand for hours: meanwhile the memory of the turn should be free.
	debug.FreeOSMemory()
	if err := t.prompt.Over(); prompt.IsSignal(err) {
		t.opt.Sender.Kill() // the signal leaves no time for more
		return err
	}
	if ctx.Err() == nil { // a user that interrupts looks at the terminal
		t.offerNotify(ctx, took)
	}
	return nil
}

// died fires when a signal is to end the conversation and the turn had its time to.
func (t *Terminal) died() <-chan time.Time {
	if !prompt.IsSignal(t.prompt.Over()) {
		return nil
	}
	return t.opt.Clock.After(signalWait)
}

// interrupter handles Ctrl-C in a turn that waits for no server's start: the first stops the turn, another one kills the
// commands, and one a while later leaves. The prompt's goroutine calls it.
func (t *Terminal) interrupter(cancel context.CancelCauseFunc, stuck chan<- struct{}) func() {
	var first time.Time
	return func() {
		now := t.opt.Clock.Now()
		if first.IsZero() {
			first = now
			cancel(prompt.ErrInterrupted)
			t.discard()
			return
		}
		t.opt.Sender.Kill()
		t.discard()
		switch {
		case now.Sub(first) >= leaveWait:
			select {
			case stuck <- struct{}{}:
			default:
			}
		default:
			t.Note("stopping; Ctrl-C again in two seconds leaves")
		}
	}
}

// discard drops output that a slow terminal has not shown yet; the next write meets its errors.
func (t *Terminal) discard() {
	if t.opt.Discard == nil {
		return
	}
	if slow, _ := t.opt.Discard(); slow {
		t.DropPending()
	}
}

// act carries out a key; its text comes back with the next prompt.
func (t *Terminal) act(ctx context.Context, l prompt.Line) error {
	if l.Action == prompt.Compose {
		return t.editMessage(ctx, l.Text) // it gives the text back itself
	}
	t.initial = prompt.Draft{Text: l.Text, Pasted: l.Pasted}
	switch l.Action {
	case prompt.NextMode:
		return t.runCommand(ctx, "/approval next")
	case prompt.LastOutput:
		return t.runCommand(ctx, "/out")
	case prompt.Rewind:
		return t.runCommand(ctx, "/rewind")
	}
	return nil
}

// Lose ends the conversation because an output cannot be written any more. The caller says why.
// A terminal that is gone is a hang-up. Any goroutine may call it at any time.
func (t *Terminal) Lose(err error) {
	if !prompt.IsHangup(err) {
		err = errLost
	}
	t.lost.Store(&err)
	if t.began.Load() {
		t.prompt.End(err)
	}
}

var errLost = errors.New("an output cannot be written")

// New checks the options. Nothing is read or changed before Run.
func New(opt Options) (*Terminal, error) {
	if opt.Agent == nil || opt.Program == nil || opt.Screen == nil || opt.In == nil {
		return nil, errors.New("terminal: Agent, Program, Screen and In are needed")
	}
	if opt.Sender == nil {
		opt.Sender = opt.Agent
	}
	t := &Terminal{Screen: opt.Screen, opt: opt}
	o := &t.opt.Options
	o.Screen, o.Plain, o.Spoken = opt.Screen, opt.Profile == screen.Plain, opt.Profile == screen.Spoken
	o.Clock, o.Env, o.Kill = o.Clock.OrReal(), t.variable, opt.Sender.Kill
	o.Complete, o.Queued, o.Output, o.Skip = t.completions, t.queued, opt.Screen.SoFar, t.skip
	return t, nil
}

// skip ends the waiting for MCP servers that start, and reports whether anything waited.
func (t *Terminal) skip() bool {
	m := t.opt.Agent.Env().MCP
	return m != nil && m.Skip()
}

// errLeave is returned by the commands that end the conversation.
var errLeave = errors.New("leave")

// access has the reach of the present session's file tools.
func (t *Terminal) access() fileAccess { return accessOf(t.opt.Agent, true) }

// attach is the message of a typed line with the files of its @paths; notes about these are shown.
func (t *Terminal) attach(ctx context.Context, l prompt.Line) (text string, parts []provider.Part) {
	e := t.access().expand(ctx, l.Text, l.Pasted)
	for _, note := range e.Notes {
		t.Note(oneLine(note))
	}
	return e.Text, e.Parts
}
