package agent

import (
	"context"
	"testing"
)

// asks fails the test at any question.
type asks struct {
	NopCallbacks
	t *testing.T
}

func (a asks) Ask(context.Context, Question) (Answer, error) {
	a.t.Error("asked after the turn")
	return Answer{}, nil
}

// A tool that was given up may want an answer when its turn has ended: no one is asked then.
func TestNoQuestionOutlivesItsTurn(t *testing.T) {
	t.Parallel()
	_, clock := (&session{}).startClock(t.Context())
	s := &serial{cb: asks{t: t}, clock: clock}
	s.close()
	if _, err := s.Ask(t.Context(), Question{}); err == nil {
		t.Error("there is an answer")
	}
}
