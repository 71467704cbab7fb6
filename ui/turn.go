package ui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// leaveWait is how long a second Ctrl-C still leaves.
const leaveWait = 2 * time.Second

// errLeave is returned by the commands that end the conversation.
var errLeave = errors.New("leave")

var errStuck = fmt.Errorf("the turn could not be stopped: %w", context.Canceled)

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
	return callbacks{t.screen, t}
}

// steering implements agent.Message: lines that the user sent now leave the queue, and stand in
// the transcript where the model gets them.
func (t *Terminal) steering(ctx context.Context) []agent.Message {
	if ctx.Err() != nil {
		return nil
	}
	var lines []prompt.Line
	t.prompt.Queue(func(q *prompt.Queue) { lines = q.Remove(func(_ int, l prompt.Line) bool { return l.Now }) })
	var messages []agent.Message
	for _, l := range lines {
		t.echo(l)
		text, parts := t.attach(ctx, l)
		messages = append(messages, agent.Message{Text: text, Attachments: parts})
	}
	return messages
}

// followUp has background commands judged that ended while the prompt stood.
func (t *Terminal) followUp(ctx context.Context) error {
	if !t.opt.Agent.HasEnded() {
		return nil
	}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		return nil, t.opt.Agent.FollowUp(ctx, t.callbacks())
	})
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
	began, waited := t.opt.Clock.Now(), t.screen.Waited()
	stuck := make(chan struct{}, 1)
	if cost := t.opt.Agent.Cost().CostUSD; cost != nil {
		t.spent = *cost // the cost of the session before this turn
	}
	t.prompt.BeginTurn(t.interrupter(cancel, stuck))
	done := make(chan ended, 1)
	go func() {
		defer t.prompt.Guard()
		response, err := work(ctx)
		t.screen.Finish() // a slow terminal takes its time for the answer, and Ctrl-C stops that too
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
	took := t.opt.Clock.Now().Sub(began) - (t.screen.Waited() - waited)
	t.showEnd(ctx, end, took)
	// A prompt at a terminal may stand for hours: meanwhile the memory of the turn should be free.
	if !t.opt.Piped {
		debug.FreeOSMemory()
	}
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
			t.screen.Note("stopping; Ctrl-C again within two seconds exits")
		}
	}
}

// discard drops output that a slow terminal has not shown yet; the next write meets its errors.
func (t *Terminal) discard() {
	if t.opt.Discard == nil {
		return
	}
	if slow, _ := t.opt.Discard(); slow {
		t.screen.DropPending()
	}
}

// attach is the message of a typed line with the files of its @paths; notes about these are shown.
func (t *Terminal) attach(ctx context.Context, l prompt.Line) (text string, parts []provider.Part) {
	e := t.access().expand(ctx, l.Text, l.Pasted)
	for _, note := range e.Notes {
		t.screen.Note(oneLine(note))
	}
	return e.Text, e.Parts
}

// access has the reach of the present session's file tools.
func (t *Terminal) access() fileAccess { return accessOf(t.opt.Agent, true) }

func (t *Terminal) you() string {
	a := t.opt.Agent
	return screen.YouIn(a.Policy().Mode, oneLine(a.Until()))
}

// echo shows a queued message where it now stands in the conversation.
func (t *Terminal) echo(l prompt.Line) {
	if l.Queued {
		t.screen.Said(t.you(), l.Text)
	}
}
