// Package ui is the conversation in a terminal: lines scroll, and only the rows
// of the prompt being edited move. Terminal reads a line, runs a slash command
// or a turn of the agent with it, and shows the next prompt. Package screen does
// all showing; this one reads.
//
// Of chzyer/readline the line buffer and the history are used, 18 % of its
// statements (v1.5.1, go test -coverpkg). The rest reads and draws the terminal by
// itself, and there pastes, the end of the input (it sends the line), Ctrl-Z, the
// Delete key and sequences that it does not know go wrong; its words are ASCII and
// its characters single runes. See editor.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/screen"
)

// Terminal is a conversation in a terminal. It implements agent.Callbacks: the
// screen tells, the terminal asks. Make one with New, call Run once.
type Terminal struct {
	*screen.Screen
	commandState
	opt      Options
	console  *console
	listed   []conversation.Info   // as /sessions numbered them
	initial  draft                 // for the next prompt
	returned []draft               // for the prompts after it: what was queued and not sent
	complete completer             // what Tab proposes
	lastInt  time.Time             // of the Ctrl-C that said how to leave
	spent    float64               // US dollars, as far as they are known
	began    atomic.Bool           // there is a console
	lost     atomic.Pointer[error] // why the output that is lost ends the conversation
}

// leaveWait is how long a second Ctrl-C still leaves.
const leaveWait = 2 * time.Second

// Exit codes Run returns besides 0 and those of signals.
const (
	exitError     = 1
	exitInterrupt = 130
)

// Run holds the conversation until it ends and returns the exit code: 0 when
// the user leaves or the input ends, 130 for Ctrl-C twice, 128 and the number
// of a signal that ended it. The terminal's modes are then as they were found,
// also when Run panics. ctx ends the conversation too. An error is one of the
// terminal itself; errors of turns are shown and the conversation goes on.
func (t *Terminal) Run(ctx context.Context) (code int, err error) {
	stop, err := t.open()
	if err != nil {
		return exitError, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	defer t.console.guard()
	if err := t.askTrust(ctx); err != nil {
		return exitError, err
	}
	if resumed := t.opt.Agent.Resumed(); resumed != nil {
		t.showResumed(resumed)
	}
	if t.opt.First != "" {
		t.Said(t.prompt(), t.opt.First)
		text, parts := t.attach(ctx, line{text: t.opt.First})
		if err := t.turn(ctx, text, parts); err != nil {
			return t.leave(err)
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

// leave turns what ended a line or a turn into an exit code; -1 goes on.
func (t *Terminal) leave(err error) (code int, left error) {
	var signal *signalError
	switch {
	case errors.As(err, &signal):
		return exitCode(signal.signal), nil
	case errors.Is(err, errLeave), errors.Is(err, errLost), errors.Is(err, io.EOF):
		return 0, nil
	case errors.Is(err, errStuck):
		return exitInterrupt, nil
	case !errors.Is(err, errInterrupted):
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

// prompt is the prompt for a message, in the mode in force.
func (t *Terminal) prompt() string { return screen.YouIn(t.opt.Agent.Policy().Mode) }

// readMessage reads one whole message, which may take several lines.
func (t *Terminal) readMessage(ctx context.Context) (line, error) {
	initial := t.initial
	t.initial = draft{}
	if initial.text == "" && len(t.returned) > 0 {
		initial, t.returned = t.returned[0], t.returned[1:]
	}
	prompt := t.prompt()
	l, err := t.console.readLine(ctx, prompt, initial)
	if err != nil || t.console.modes != nil { // an editor sends whole messages
		t.echo(l)
		return l, err
	}
	if l.pasted { // whole as it is
		t.echo(l)
		return l, nil
	}
	text := l.text
	for {
		message, rest, whole := compose(text)
		if whole {
			if l.text = message; fenced(text) {
				queued := l.queued
				l = blockLine(message)
				l.queued = queued
			}
			t.echo(l)
			return l, nil
		}
		next, err := t.console.readLine(ctx, screen.Indent(prompt), draft{})
		if err != nil {
			return line{}, err // half a message is not sent
		}
		text = rest + next.text
	}
}

// echo shows a message that was queued where it now stands in the conversation.
func (t *Terminal) echo(l line) {
	if l.queued {
		t.Said(t.prompt(), l.text)
	}
}

// handle does what a message says.
func (t *Terminal) handle(ctx context.Context, l line) error {
	t.lastInt = time.Time{}
	if l.action != actSend {
		return t.act(ctx, l)
	}
	word := strings.TrimSpace(l.text)
	switch {
	case word == "":
		return nil
	case l.pasted:
	case word == "quit" || word == "exit":
		return t.runCommand(ctx, "/quit")
	case word == "help" || word == "?":
		return t.runCommand(ctx, "/help")
	case strings.HasPrefix(l.text, "/") && len(droppedImages(l.text, true)) == 0:
		return t.runCommand(ctx, l.text)
	case strings.HasPrefix(l.text, "!"):
		return t.shell(ctx, l.text)
	case isMemory(l.text):
		return t.remember(ctx, l.text)
	}
	text, parts := t.attach(ctx, l)
	return t.turn(ctx, text, append(t.takeShared(), parts...))
}

// errStuck is a turn that does not end when it is told to.
var errStuck = fmt.Errorf("the turn does not end: %w", context.Canceled)

// signalWait is how long a turn may take to end after a signal before the
// conversation ends without it.
const signalWait = 2 * time.Second

// ended is how a turn came back.
type ended struct {
	response *agent.Response
	err      error
}

// turn sends a message and shows what comes of it.
func (t *Terminal) turn(ctx context.Context, text string, attachments []provider.Part) error {
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		return t.opt.Sender.Send(ctx, agent.Message{Text: text, Attachments: attachments,
			Steering: func() []agent.Message { return t.steering(ctx) }}, t)
	})
}

// during has the agent work, which Ctrl-C interrupts, and shows how it ended. Errors
// of the work are shown; the error it returns ends the conversation.
func (t *Terminal) during(ctx context.Context, work func(context.Context) (*agent.Response, error)) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	began, waited := t.opt.Clock.Now(), t.Waited()
	stuck := make(chan struct{}, 1)
	t.countFrom()
	t.console.beginTurn(t.interrupter(cancel, stuck))
	done := make(chan ended, 1)
	go func() {
		defer t.console.guard()
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
			return t.console.over()
		}
	}
	t.console.endTurn(end.err == nil)
	took := t.opt.Clock.Now().Sub(began) - (t.Waited() - waited)
	t.showEnd(ctx, end, took)
	// A prompt may stand for hours: it should not hold what the turn needed.
	debug.FreeOSMemory()
	if err := t.console.over(); isSignal(err) {
		t.opt.Sender.Kill() // what ends artoo leaves no time for more
		return err
	}
	if ctx.Err() == nil { // who interrupts is there
		t.offerNotify(ctx, took)
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

// action is what a key asks for besides sending a line. The reader finishes the
// wanted line with it: the conversation carries it out between turns and shows
// the prompt again with the text as it was. During a turn and at a question
// these keys only beep, but for Ctrl-O while a call runs: see screen.SoFar.
type action uint8

const (
	actSend   action = iota // Enter: the line is a message
	actEdit                 // Ctrl-G, Ctrl-X Ctrl-E: compose the text in the editor
	actMode                 // Shift-Tab: the next approval mode
	actOutput               // Ctrl-O: the last tool's whole output, as /out
	actRewind               // Esc Esc on an empty line: what /undo is for
)

// act carries out what a key asked for; the text it stood in comes back with
// the next prompt.
func (t *Terminal) act(ctx context.Context, l line) error {
	if l.action == actEdit {
		return t.editMessage(ctx, l.text) // it gives the text back itself
	}
	t.initial = draft{l.text, l.spans}
	switch l.action {
	case actMode:
		return t.runCommand(ctx, "/approval next")
	case actOutput:
		return t.runCommand(ctx, "/out")
	case actRewind:
		return t.runCommand(ctx, "/undo")
	}
	return nil
}
