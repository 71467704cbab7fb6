package agent

import (
	"context"
	"fmt"

	"artoo/provider"
)

// fewSteps is how many requests are left when the model is told so, of a turn
// that may have several times as many.
const fewSteps = 5

// takeStep takes one of the turn's steps for the next request. Sub-agents side by side
// take from the same ones. Where they are used up the user is asked whether to go on;
// where that is not answered with yes, one last request brings what is done and what
// is left, and the error ends the turn.
func (t *turn) takeStep(ctx context.Context) error {
	most := t.opt.Limits.MaxTurns
	if most <= 0 {
		return nil
	}
	for {
		used := t.steps.Load()
		left := most + t.moreSteps - int(used)
		if left <= 0 {
			if err := t.stepsUsed(ctx); err != nil {
				return err
			}
			continue
		}
		if !t.steps.CompareAndSwap(used, used+1) {
			continue
		}
		t.taken = true
		if left <= fewSteps && !t.fewLeft && most >= 2*fewSteps {
			t.fewLeft = true
			return t.conv.Remind(fmt.Sprintf("%d more replies with tool calls are possible now. "+
				"Bring the task to a state that can be left, and say what is left to do.", left))
		}
		return nil
	}
}

// countStep counts a request that is about to be made: the one that a step was taken
// for, or a try of it anew.
func (t *turn) countStep() {
	if !t.closing && !t.taken {
		t.steps.Add(1)
	}
	t.taken = false
}

// returnStep gives back a step that no request was made for.
func (t *turn) returnStep() {
	if t.taken {
		t.steps.Add(-1)
	}
	t.taken = false
}

// stepsUsed asks whether to go on. Its error says that the turn is over.
func (t *turn) stepsUsed(ctx context.Context) error {
	used, most := int(t.steps.Load()), t.opt.Limits.MaxTurns
	if ctx.Err() == nil && t.parent == nil { // of a sub-agent's turn its parent's asks
		question := fmt.Sprintf("%s are used; go on for %d more?", count(used, "step"), most)
		answer, err := t.cb.Ask(ctx, Question{Kind: QuestionSteps, Reason: question, Number: 1, Of: 1})
		if err == nil && answer.Verdict == Yes {
			t.moreSteps += most
			t.warned, t.fewLeft = false, false
			return nil
		}
	}
	over := capFailure(count(used, "step")+" in this turn",
		`artoo -c "go on" (in a conversation: go on), or a higher --max-turns`)
	if err := t.lastWords(ctx); err != nil && ctx.Err() != nil {
		return err
	}
	return over
}

// lastWords has the model say how far it came, without calls. What fails is no
// more than missing words.
func (t *turn) lastWords(ctx context.Context) error {
	t.closing = true
	if err := t.conv.Remind("The steps of this turn are used up: no tool can be called now. " +
		"Say in a few sentences what is done, what is left, and how to go on."); err != nil {
		return err
	}
	reply, err := t.query(ctx)
	if err != nil {
		return err
	}
	message := textOnly(reply.Message)
	message.Partial = reply.Stop != provider.StopComplete
	t.answer.Reset()
	t.answer.WriteString(message.Text())
	return t.conv.Append(message)
}
