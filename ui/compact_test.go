package ui

import (
	"context"
	"errors"
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
	called := 0
	term := &Terminal{opt: Options{Deps: Deps{Compact: func() (string, error) { called++; return "", errors.New("asked") }}}}
	if err := c.run(context.Background(), term, ""); err == nil || called != 1 {
		t.Errorf("called %d times, %v", called, err)
	}
}
