package agent_test

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

func TestAMessageOverridesTheDefaultsForItsTurn(t *testing.T) {
	t.Parallel()
	p := newScript("one", "two", "three")
	a := newAgent(p)
	warm := 0.7
	m := agent.Message{Text: "go", Options: provider.Options{Model: "other", MaxTokens: 300, Temperature: &warm,
		Effort: provider.EffortLow}}
	r, err := a.Send(t.Context(), m, &recorder{})
	if err != nil || r.Model != "other" {
		t.Fatalf("%+v, %v", r, err)
	}
	req, _ := p.Last()
	if got := req.Options; got.Model != "other" || got.MaxTokens != 300 || got.Temperature == nil ||
		*got.Temperature != warm || got.Effort != provider.EffortLow {
		t.Errorf("asked with %+v", got)
	}
	if _, err := a.Send(t.Context(), agent.Message{Text: "go", Options: provider.Options{MaxTokens: 200}},
		&recorder{}); err != nil {
		t.Fatal(err)
	}
	if req, _ = p.Last(); req.Options != (provider.Options{Model: "m", MaxTokens: 200}) {
		t.Errorf("what is unset is not the default's: %+v", req.Options)
	}
	mustSend(t, a, &recorder{}, "go")
	if req, _ = p.Last(); req.Options != (provider.Options{Model: "m", MaxTokens: 1000}) ||
		a.Model().Info.Context != 100_000 || a.Conversation().Budget() != 50_000 {
		t.Errorf("the next message is asked with %+v, window %d, budget %d", req.Options, a.Model().Info.Context,
			a.Conversation().Budget())
	}
}

// The size of the history depends on the model that is asked.
func TestAMessageToAnotherModelFitsItsWindow(t *testing.T) {
	t.Parallel()
	p := newScript("one")
	a := newAgent(p)
	const small = "a-model-nobody-knows"
	info, _ := provider.Lookup(fake.Name, small)
	if info.Context <= 0 || info.Context/4 >= 90_000 {
		t.Fatalf("%s has a window of %d tokens: ask for a longer reply", small, info.Context)
	}
	m := agent.Message{Text: "go", Options: provider.Options{Model: small, MaxTokens: 90_000}}
	if _, err := a.Send(t.Context(), m, &recorder{}); err != nil {
		t.Fatal(err)
	}
	if req, _ := p.Last(); req.MaxTokens <= 0 || req.MaxTokens > info.Context/4 {
		t.Errorf("a reply of %d tokens in a window of %d", req.MaxTokens, info.Context)
	}
}

func TestAMessageMayHaveATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAgent(&fake.Provider{Steps: []fake.Step{{Text: []string{"half", "more"}, Gate: fake.NewGate(),
			GateAfter: 2}, fake.Say("well")}})
		began := time.Now()
		r, err := a.Send(t.Context(), agent.Message{Text: "go", Timeout: 3 * time.Second}, &recorder{})
		f := agent.Classify(err)
		if f == nil || f.Kind != agent.KindTimeout || time.Since(began) != 3*time.Second || r.Text != "half" {
			t.Fatalf("%v after %v, with %q", err, time.Since(began), r.Text)
		}
		if _, err := send(t, a, &recorder{}, "on"); err != nil {
			t.Error(err)
		}
	})
}

// Messages that the user sends while calls run follow their results; after a reply without calls no more are taken.
func TestSteeringReachesTheModelAtTheNextStep(t *testing.T) {
	t.Parallel()
	look := makeTool("look", tool.KindRead, func(context.Context, string, io.Writer) (tool.Result, error) {
		return tool.Result{Text: "seen"}, nil
	})
	p := &fake.Provider{Steps: []fake.Step{
		fake.Calls(fake.ToolCall("a", "look", `{}`)), fake.Calls(fake.ToolCall("b", "look", `{}`)), fake.Say("done"),
	}}
	a := newAgent(p, look)
	said := [][]agent.Message{{{Text: "only the tests"}, {Text: "and be brief"}}, nil}
	asked := 0
	_, err := a.Send(t.Context(), agent.Message{Text: "go", Steering: func() []agent.Message {
		asked++
		return said[asked-1]
	}}, &recorder{})
	must(t, err)
	var got []string
	for _, m := range a.Conversation().Messages() {
		got = append(got, string(m.Role)+" "+m.Text())
	}
	want := []string{"user go", "assistant ", "tool ", "user only the tests", "user and be brief", "assistant ", "tool ",
		"assistant done"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if asked != 2 {
		t.Errorf("asked %d times for what the user says, and there were 2 steps with calls", asked)
	}
	if got := a.Turn(3); got != "and be brief" {
		t.Errorf("turn 3 is %q", got)
	}
}
