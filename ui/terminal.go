// Package ui is the conversation in a terminal: lines scroll, and only the rows
// of the prompt being edited move. Terminal reads a line, runs a slash command
// or a turn of the agent with it, and shows the next prompt. Package screen does
// all showing; this one reads.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"artoo/conversation"
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
	priced   bool                  // a turn's cost was shown
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
// the person leaves or the input ends, 130 for Ctrl-C twice, 128 and the number
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
	if resumed := t.opt.Agent.Resumed(); resumed != nil {
		t.showResumed(resumed)
	}
	if t.opt.First != "" {
		t.Said(t.opt.First)
		if err := t.turn(ctx, t.opt.First, nil); err != nil {
			return t.leave(err)
		}
	}
	for {
		l, err := t.readMessage(ctx)
		if err == nil {
			err = t.handle(ctx, l)
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

// readMessage reads one whole message, which may take several lines.
func (t *Terminal) readMessage(ctx context.Context) (line, error) {
	initial := t.initial
	t.initial = draft{}
	if initial.text == "" && len(t.returned) > 0 {
		initial, t.returned = t.returned[0], t.returned[1:]
	}
	l, err := t.console.readLine(ctx, screen.You, initial)
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
		next, err := t.console.readLine(ctx, lineIndent, draft{})
		if err != nil {
			return line{}, err // half a message is not sent
		}
		text = rest + next.text
	}
}

// echo shows a message that was queued where it now stands in the conversation.
func (t *Terminal) echo(l line) {
	if l.queued {
		t.Said(l.text)
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
		return errLeave
	case word == "help" || word == "?":
		return t.runCommand(ctx, "/help")
	case strings.HasPrefix(l.text, "/") && len(droppedPictures(l.text, true)) == 0:
		return t.runCommand(ctx, l.text)
	case strings.HasPrefix(l.text, "!"):
		return t.shell(ctx, l.text)
	}
	text, parts := t.attach(ctx, l)
	return t.turn(ctx, text, append(t.takeShared(), parts...))
}

// open starts reading. stop undoes it.
func (t *Terminal) open() (stop func() error, err error) {
	in, err := startInput(t.opt.In, t.opt.Clock.Now)
	if err != nil {
		return nil, err
	}
	signals, unwatch := watchSignals()
	c := &console{
		in: in, screen: t.Screen, signals: signals, die: dump, crash: t.opt.Crash,
		calls: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	file, isFile := t.opt.In.(*os.File)
	tty := isFile && isTerminal(file)
	c.announce = tty && !t.opt.Lines
	lines := &lineFront{console: c, tty: tty, clock: t.opt.Clock, typed: c.announce}
	if tty {
		lines.forget = func() error { return flushInput(file) }
	}
	c.front = lines
	if tty && !t.opt.Lines && t.opt.Profile != screen.Plain {
		if err := t.openEditor(c, file); err != nil {
			t.Note("plain lines: " + err.Error())
		}
	}
	t.console = c
	t.began.Store(true)
	if lost := t.lost.Load(); lost != nil {
		c.ending = *lost
	}
	go c.run()
	unguard := t.watchdog(c.modes)
	return func() error { unwatch(); unguard(); return c.close() }, nil
}

// openEditor puts an editor in front. Where the terminal's modes cannot be
// changed, plain lines have to do.
func (t *Terminal) openEditor(c *console, file *os.File) error {
	modes, err := newTTYModes(file)
	if err != nil {
		return err
	}
	history := &historyFile{path: t.opt.History, warn: t.Note}
	ed, err := newEditor(history.load())
	if err != nil {
		return err
	}
	if err := modes.enter(); err != nil {
		return errors.Join(err, ed.close())
	}
	c.modes = modes
	c.front = t.newRawFront(c, ed, history.add)
	return nil
}

// Lose ends the conversation at once because an output cannot be written any
// more: what is not seen must not go on. Who calls it says why. A terminal that is
// gone is a hang-up. It may be called by any goroutine, at any time.
func (t *Terminal) Lose(err error) {
	if isHangup(err) {
		err = &signalError{hangup}
	} else {
		err = errLost
	}
	t.lost.Store(&err)
	if t.began.Load() {
		t.console.post(func() { t.console.end(err) })
	}
}

// errLost ends a conversation whose output is lost. Who lost it says so.
var errLost = errors.New("an output cannot be written")

// errStuck is a turn that does not end when it is told to.
var errStuck = fmt.Errorf("the turn does not end: %w", context.Canceled)
