//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"fmt"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

// fullAgent is an agent whose next message passes its budget.
func fullAgent(t *testing.T, steps ...fake.Step) (*agent.Agent, *fake.Provider) {
	t.Helper()
	p := &fake.Provider{Steps: steps}
	model := testModel(fake.Name, "m")
	model.Provider = p
	a, err := agent.New(agent.Options{Model: model, Sessions: agent.Sessions{Ephemeral: true},
		MaxContextTokens: 3000, Compact: agent.CompactAsk})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		appendAll(t, a.Conversation(), provider.UserText(fmt.Sprint("why ", i)), said(strings.Repeat("because of that ", 130)))
	}
	return a, p
}

// The question at a full budget takes nothing but its choices, and no line that was
// typed before it.
func TestTheUserIsAskedAtAFullBudget(t *testing.T) {
	t.Parallel()
	a, model := fullAgent(t, fake.Say("## Goal\ng\n## Decisions\nd\n## Files\nf\n## State\ns\n## Next\nn"), fake.Say("gone on"))
	k := startPTY(t, &sender{play: sendTo(a)}, nil)
	k.expect("you: ")
	k.enter("go on")
	k.expect("the context is full: about ")
	k.expect("summarise: the model summarises it now")
	k.expect("answer: [1-4] (trim) ")
	k.answerWith("5")
	k.expect("please answer with a number from 1 to 4 (Enter trims)")
	k.expect("answer: [1-4] (trim) ")
	k.answerWith("summarise")
	k.expect("the context was compacted from about ")
	k.expect("/uncompact takes it")
	k.await(k.answer, 0, "gone on")
	k.expect(pasteOn + "you: ")
	if n := len(model.Requests()); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// Enter, and Ctrl-D, trim; Ctrl-C stops the turn and leaves everything as it was.
func TestNoSummaryWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"Enter": "\r", "Ctrl-D": "\x04", "Ctrl-C": "\x03"} {
		t.Run(name, func(t *testing.T) {
			a, model := fullAgent(t, fake.Say("gone on"))
			before := a.Conversation().MessageCount()
			k := startPTY(t, &sender{play: sendTo(a)}, nil)
			k.expect("you: ")
			k.enter("go on")
			k.expect("answer: [1-4] (trim) ")
			k.clock.advance(quiet)
			k.send(key)
			if name == "Ctrl-C" {
				k.expect("stopped")
				k.expect(pasteOn + "you: ")
				if n := len(model.Requests()); n > 0 || a.Conversation().MessageCount() != before+1 {
					t.Errorf("%d requests, %d messages were %d", n, a.Conversation().MessageCount(), before)
				}
				return
			}
			k.expect("the context was trimmed from about ")
			k.await(k.answer, 0, "gone on")
			k.expect(pasteOn + "you: ")
			if n := len(model.Requests()); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}
