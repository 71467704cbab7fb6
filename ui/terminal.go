// Package ui is the conversation in a terminal: lines scroll, and only the rows
// of the prompt being edited move. Terminal reads a line, runs a slash command
// or a turn of the agent with it, and shows the next prompt. Package screen does
// all showing and package prompt all reading.
package ui

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// Exit codes that Run returns in addition to 0 and those of signals.
const (
	exitError     = 1
	exitInterrupt = 130
)

// New checks the options. Nothing is read or changed before Run.
func New(opt Options) (*Terminal, error) {
	if opt.Agent == nil || opt.Program == nil || opt.Models == nil || opt.Screen == nil || opt.In == nil {
		return nil, errors.New("terminal: Agent, Program, Models, Screen and In are needed")
	}
	if opt.Sender == nil {
		opt.Sender = opt.Agent
	}
	t := &Terminal{screen: opt.Screen, opt: opt}
	t.children.opt = &t.opt
	o := &t.opt.Options
	o.Screen, o.Plain, o.Spoken = opt.Screen, opt.Profile == screen.Plain, opt.Profile == screen.Spoken
	o.Clock, o.Env, o.Kill = o.Clock.OrReal(), t.children.variable, opt.Sender.Kill
	o.Complete, o.Queued, o.Output, o.Skip = t.completions, t.queued, opt.Screen.SoFar, t.skip
	return t, nil
}

// Run holds the conversation until it ends and returns the exit code: 0 when the user leaves or
// the input ends, 130 for Ctrl-C twice, 128 and the number of a signal. The terminal's modes
// are then as they were found, also when Run panics. ctx ends the conversation too. An error is
// one of the terminal itself; those of turns are shown.
func (t *Terminal) Run(ctx context.Context) (code int, err error) {
	if t.prompt, err = prompt.Open(t.opt.Options); err != nil {
		return exitError, err
	}
	t.children.prompt = t.prompt
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
		t.screen.Said(t.you(), t.opt.First)
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

// invocation is the skill or command that a typed line calls, where no command of artoo's own has
// the name.
func (t *Terminal) invocation(line string) (Invocation, bool) {
	name, args, ok := CommandName(strings.TrimSpace(line))
	if !ok || IsBuiltIn(name) {
		return Invocation{}, false
	}
	i, ok := FindOwn(t.opt.Agent.Skills(), name)
	return Invocation{Item: i, Args: args}, ok
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
	t.screen.Note("Ctrl-C again or Ctrl-D to exit")
	return -1, nil
}

func (t *Terminal) readMessage(ctx context.Context) (prompt.Line, error) {
	initial := t.initial
	t.initial = prompt.Draft{}
	if initial.Text == "" && len(t.returned) > 0 {
		initial, t.returned = t.returned[0], t.returned[1:]
	}
	you := t.you()
	l, err := t.prompt.ReadLine(ctx, label(t.screen, you), initial)
	t.echo(l)
	return l, err
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

// act carries out a key; its text comes back with the next prompt.
func (t *Terminal) act(ctx context.Context, l prompt.Line) error {
	if l.Action == prompt.Compose {
		return t.editMessage(ctx, l.Text) // it gives the text back itself
	}
	t.initial = prompt.Draft{Text: l.Text, Pasted: l.Pasted}
	switch l.Action {
	case prompt.NextMode:
		if t.opt.Profile == screen.Spoken {
			return t.runCommand(ctx, "/approval next")
		}
		return t.pressMode(ctx)
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

// skip ends the waiting for MCP servers that start, and reports whether anything waited.
func (t *Terminal) skip() bool {
	m := t.opt.Agent.Env().MCP
	return m != nil && m.Skip()
}
