package ui

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/screen"
)

// signalWait is how long a turn may take to end after a signal before the
// conversation ends without it.
const signalWait = 2 * time.Second

// ended is how a turn came back.
type ended struct {
	response *agent.Response
	err      error
}

// turn sends a message and shows what comes of it. Errors of the turn are
// shown; the error it returns ends the conversation.
func (t *Terminal) turn(ctx context.Context, text string, attachments []provider.Part) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began, waited := t.opt.Clock.Now(), t.Waited()
	stuck := make(chan struct{}, 1)
	t.countFrom()
	t.console.beginTurn(t.interrupter(cancel, stuck))
	done := make(chan ended, 1)
	go func() {
		defer t.console.guard()
		response, err := t.opt.Sender.SendMessage(ctx, text, t, attachments...)
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
			return t.console.over()
		}
	}
	t.console.endTurn(end.err == nil)
	t.showEnd(ctx, end, t.opt.Clock.Now().Sub(began)-(t.Waited()-waited))
	// A prompt may stand for hours: it should not hold what the turn needed.
	debug.FreeOSMemory()
	if err := t.console.over(); isSignal(err) {
		t.opt.Sender.Kill() // what ends artoo leaves no time for more
		return err
	}
	return nil
}

func isSignal(err error) bool {
	var signal *signalError
	return errors.As(err, &signal)
}

// died fires when a signal wants the conversation to end and the turn had its
// time to.
func (t *Terminal) died() <-chan time.Time {
	if !isSignal(t.console.over()) {
		return nil
	}
	return t.opt.Clock.After(signalWait)
}

// interrupter is what Ctrl-C does in a turn: it stops it. Another one kills the
// commands that do not stop. A turn that has not ended a while later can be left
// behind, and artoo with it. Called by the console's goroutine.
func (t *Terminal) interrupter(cancel context.CancelCauseFunc, stuck chan<- struct{}) func() {
	var first time.Time
	return func() {
		now := t.opt.Clock.Now()
		if first.IsZero() {
			first = now
			cancel(errInterrupted)
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

// discard throws away what a slow terminal has not shown yet. An error here is
// one of the terminal, and the next write meets it too.
func (t *Terminal) discard() {
	if t.opt.Discard == nil {
		return
	}
	if slow, _ := t.opt.Discard(); slow {
		t.DropPending()
	}
}

// showEnd shows how a turn ended, and what it took. What was queued is sent
// next, unless the turn did not end well: then it is put into the prompt for
// the person to decide.
func (t *Terminal) showEnd(ctx context.Context, end ended, took time.Duration) {
	interrupted := errors.Is(context.Cause(ctx), errInterrupted)
	var back []line
	if end.err != nil || interrupted {
		back = t.unqueue()
	}
	outcome := screen.OutcomeDone
	switch {
	case interrupted:
		outcome = screen.OutcomeStopped
		t.Stopped(wordCount(end.response), len(t.returned))
	case errors.Is(end.err, agent.ErrStopped):
		outcome = screen.OutcomeStopped
		t.Note("turn stopped")
	case end.err != nil && errors.Is(end.err, context.Cause(ctx)): // a signal, which ends artoo
		outcome = screen.OutcomeStopped
	case end.err != nil:
		outcome = screen.OutcomeFailed
		f := *agent.Classify(end.err)
		f.Hint = commandHints.Replace(f.Hint)
		t.Failure(&f)
	}
	if n := len(t.returned); n > 1 && !interrupted {
		t.Note(fmt.Sprintf("your %d queued lines come back one by one", n))
	}
	t.showStatus(end.response, outcome, took)
	t.tellNotify()
	if !interrupted { // who interrupts is there
		t.opt.Notify.Done(took)
	}
	for _, l := range back {
		t.Note("not sent: " + l.text)
	}
}

// commandHints puts the commands of a conversation for the flags that a hint
// names: here nobody can give one.
var commandHints = strings.NewReplacer("--model", "/model", "--provider", "/provider", "or -v to see", "or /debug on to see")

// showStatus prints the status line.
func (t *Terminal) showStatus(r *agent.Response, outcome screen.Outcome, took time.Duration) {
	info := screen.StatusInfo{Outcome: outcome, Elapsed: took, Context: -1}
	if r != nil {
		info.Model, info.Usage, info.CostUSD = r.Model, r.Usage, r.CostUSD
	}
	info.Priced = t.priced && r != nil
	t.priced = t.priced || info.CostUSD != nil
	if c := t.opt.Agent.Context(); c.Budget > 0 {
		info.Context = c.Used * 100 / c.Budget
	}
	t.Status(info)
}

func wordCount(r *agent.Response) int {
	if r == nil {
		return 0
	}
	return len(strings.Fields(r.Text))
}

// unqueue takes back what was queued and puts it into the next prompts, one line
// each, so that every one keeps its meaning; what it returns could not be: there
// are plain lines, or no next prompt. Lines from a script stay: nobody is there
// to send them.
func (t *Terminal) unqueue() []line {
	if !t.console.announce {
		return nil
	}
	lines := t.console.takeQueue()
	if t.console.modes == nil || t.console.over() != nil {
		return lines
	}
	for _, l := range lines {
		t.returned = append(t.returned, draft{l.text, l.spans})
	}
	return nil
}
