//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/ui/screen"
)

// Lines that come at once were pasted: they are one message, and text. Those of a
// script are messages each.
func TestAPasteOnASimpleTerminalIsOneMessage(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	text := "/quit" + strings.Repeat("\n!echo a line of it", 20)
	k.send(text + "\n")
	k.await(k.answer, 0, "answer to /quit")
	k.expect("you: ")
	k.send("and one more\n")
	k.await(k.answer, 0, "answer to and one more\n")
	k.expect("you: ")
	k.send("\x04")
	k.end()
	if got := k.sender.messages(); !slices.Equal(got, []string{text, "and one more"}) {
		t.Errorf("sent %q", got)
	}
}

// A paste while a turn runs is one message too.
func TestAPasteDuringATurnOnASimpleTerminalIsOneMessage(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		cb.OnText("answer to " + text + "\n")
		<-gate
		return &agent.Response{}, nil
	}}
	k := startPTY(t, s, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send("begin\n")
	k.await(k.answer, 0, "answer to begin")
	text := "first" + strings.Repeat("\n!echo a line of it", 20)
	k.send(text + "\n")
	k.expect("queued: first")
	close(gate)
	k.expect("you: first")
	k.expect("\nyou: ")
	k.send("\x04")
	k.end()
	if got := k.sender.messages(); !slices.Equal(got, []string{"begin", text}) {
		t.Errorf("sent %q", got)
	}
}

// A terminal that hands over whole lines keeps so many bytes of one and drops the
// rest: a cut line is not sent.
func TestALineThatTheTerminalCutsIsNotSent(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send(strings.Repeat("x", 5000) + "\n")
	k.expect("so nothing of it was sent")
	k.expect("you: ")
	k.send("short\n")
	k.await(k.answer, 0, "answer to short\n")
	k.expect("you: ")
	k.send("\x04")
	k.end()
	if got := k.sender.messages(); !slices.Equal(got, []string{"short"}) {
		t.Errorf("sent %d messages, the first of %d bytes", len(got), len(got[0]))
	}
}
