package ui

import (
	"os"
	"os/signal"
	"time"
)

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
