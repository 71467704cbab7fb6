package ui

import (
	"io"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/ui/screen"
)

func TestTheQuestionWhetherToGoOnIsAnswerable(t *testing.T) {
	q := agent.Question{Kind: agent.QuestionSteps, Reason: "50 steps are used; go on for 50 more?"}
	if got, want := screen.GoOn(q), "approve: 50 steps are used; go on for 50 more? [y,n] (n) "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCompactIsNeverRefused(t *testing.T) {
	c, ok := findCommand("compact")
	if !ok || c.run == nil {
		t.Fatal("there is no /compact")
	}
	var shown strings.Builder
	term := &Terminal{Screen: newTestScreen(io.Discard, &shown, screen.Plain, nil), opt: Options{Agent: testAgent(t)}}
	if err := c.run(t.Context(), term, ""); err != nil ||
		!strings.Contains(shown.String(), "nothing is left to leave out") {
		t.Errorf("shown %q, %v", shown.String(), err)
	}
}
