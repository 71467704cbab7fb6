//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/ui/prompt"
)

// waiter is a clock whose waits never end by themselves.
type waiter struct {
	prompt.Clock
	waits chan time.Duration
}

func (w waiter) Now() time.Time { return w.Clock.Now() }

func (w waiter) Sleep(ctx context.Context, d time.Duration) error {
	w.waits <- d
	<-ctx.Done()
	return ctx.Err()
}

// A limit that resets is asked about; the wait shows in the progress line, and Ctrl-C ends it.
func TestCtrlCEndsTheWaitForALimit(t *testing.T) {
	t.Parallel()
	model := testModel("m", "m")
	limited := &provider.Error{Kind: provider.KindRateLimit, Provider: "m", Message: "slow", RetryAfter: 2 * time.Hour}
	model.Provider = &fake.Provider{Steps: []fake.Step{{Err: limited}}}
	waits := make(chan time.Duration, 1)
	k := startPTY(t, nil, func(opt *Options) {
		a, err := agent.New(agent.Options{Model: model, Sessions: agent.Sessions{Ephemeral: true},
			Waits: agent.Waits{Clock: waiter{opt.Clock, waits}}})
		if err != nil {
			t.Fatal(err)
		}
		opt.Agent, opt.Sender = a, a
		opt.Program, opt.Models = &testProgram{agent: a}, &testProgram{agent: a}
	})
	k.expect("you: ")
	k.enter("go")
	k.expect("for the rate limit of m?")
	k.expect("(n) ")
	k.clock.advance(quiet)
	k.send("y\r")
	if d := wanted(k, waits); d != 2*time.Hour-quiet {
		t.Errorf("it waits %s", d)
	}
	k.expect("the rate limit of m resets at ")
	k.send("\x03")
	k.expect("stopped")
	k.expect(pasteOn + "you: ")
	k.send("\x04")
	k.end()
}
