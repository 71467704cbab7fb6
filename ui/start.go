package ui

import (
	"artoo/ui/screen"
	"errors"
	"os"
	"os/signal"
	"time"
)

// open starts reading. stop undoes it.
func (t *Terminal) open() (stop func() error, err error) {
	in, err := startInput(t.opt.In, t.opt.Clock.Now)
	if err != nil {
		return nil, err
	}
	signals, unwatch := watchSignals()
	c := &console{
		in: in, screen: t.Screen, signals: signals, quitted: t.opt.Quit, crash: t.opt.Crash,
		calls: make(chan func()), quit: make(chan struct{}), ended: make(chan struct{}),
	}
	file, isFile := t.opt.In.(*os.File)
	tty := isFile && isTerminal(file)
	c.announce = tty && !t.opt.Lines
	lines := &plainReader{console: c, tty: tty, clock: t.opt.Clock, typed: c.announce}
	if tty {
		lines.forget = func() error { return flushInput(file) }
	}
	c.reader = lines
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

// openEditor reads lines with an editor. Where the terminal's modes cannot be
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
	c.reader = t.newKeyReader(c, ed, history.add)
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

// How long artoo may take to end after a signal that ends it, and how long the
// processes of a tool then have to be killed.
const (
	endWait  = 2500 * time.Millisecond
	killWait = 200 * time.Millisecond
)

// watchdog ends the program when a signal is to end it and it does not come to
// that: a terminal that takes no output (Ctrl-S, a link that died) holds whoever
// writes to it for as long as it likes, and the console's goroutine with it. It
// asks nobody who might be held. stop is for an end without a signal; after one
// the watch goes on until the process is gone.
func (t *Terminal) watchdog(modes *ttyModes) (stop func()) {
	if t.opt.Exit == nil {
		return func() {}
	}
	came, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(came, endingSignals()...)
	go func() {
		var s os.Signal
		select {
		case s = <-came:
		case <-over:
			return
		}
		<-t.opt.Clock.After(endWait)
		t.opt.Sender.Kill()
		<-t.opt.Clock.After(killWait)
		if modes != nil {
			_ = modes.leave() // there is nobody left to tell
		}
		t.opt.Exit(exitCode(s))
	}()
	return func() { signal.Stop(came); close(over) }
}
