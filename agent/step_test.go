package agent_test

import (
	"context"
	"iter"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

// worker is a provider with tools of its own. Its replies name their cost.
type worker struct{ cut bool }

func (w worker) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for _, e := range []provider.Event{provider.Started{}, provider.TextDelta{Text: "Let me look."},
			provider.Step{Text: "Bash: ls"}, provider.TextDelta{Text: "Done."}} {
			if !yield(e, nil) {
				return
			}
		}
		if w.cut {
			yield(nil, &provider.Error{Kind: provider.KindProvider, Retry: new(false), Message: "broken"})
			return
		}
		yield(provider.Done{
			Message: provider.Message{Role: provider.RoleAssistant, Provider: fake.Name, Model: "m",
				Parts: []provider.Part{provider.Text{Text: "Done."}}},
			Stop: provider.StopComplete, Several: true,
			Usage: provider.Usage{Input: 900_000, Output: 10, CostUSD: new(0.4)},
		}, nil)
	}
}

func TestStepsAreTold(t *testing.T) {
	t.Parallel()
	a := newAgent(worker{})
	cb := &recorder{}
	r, err := send(t, a, cb, "go")
	if err != nil || r.Text != "Done." {
		t.Fatalf("%q, %v", r.Text, err)
	}
	if n := cb.notices[0]; n.Kind != agent.NoticeStep || n.Text != "Bash: ls" {
		t.Errorf("notices %+v", cb.notices)
	}
	// The tokens of its many own requests are no measure of this history.
	if n := a.Conversation().EstimatedTokens(); n > 1000 {
		t.Errorf("the history is taken for %d tokens", n)
	}
	if used, _ := a.Spent(); used.Input != 900_000 {
		t.Errorf("%+v is booked", used)
	}
}

func TestTextBeforeAStepStaysApart(t *testing.T) {
	t.Parallel()
	a := newAgent(worker{cut: true})
	r, err := send(t, a, &recorder{}, "go")
	if err == nil || r.Text != "Let me look.\n\nDone." {
		t.Errorf("%q, %v", r.Text, err)
	}
}

// A provider without a price list that bills each reply is capped by its bills.
func TestCapByTheBill(t *testing.T) {
	t.Parallel()
	a := newAgent(worker{})
	a.Asked().Info.Price, a.Asked().Info.Billed = nil, true
	a.Opt().Limits.MaxCost = 0.7
	for i := range 3 {
		_, err := send(t, a, &recorder{}, "go")
		if f := agent.Classify(err); (f != nil) != (i == 2) || f != nil && f.Kind != agent.KindCap {
			t.Errorf("message %d: %v", i+1, err)
		}
	}
	a.Asked().Info.Billed = false
	if _, err := send(t, a, &recorder{}, "go"); agent.Classify(err).Kind != agent.KindUsage {
		t.Errorf("without a bill: %v", err)
	}
}
