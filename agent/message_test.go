package agent_test

import (
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

func TestAMessageOverridesTheDefaultsForItsTurn(t *testing.T) {
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
	if _, err := send(t, a, &recorder{}, "go"); err != nil {
		t.Fatal(err)
	}
	if req, _ = p.Last(); req.Options != (provider.Options{Model: "m", MaxTokens: 1000}) ||
		a.Model().Info.Context != 100_000 || a.Conversation().Budget() != 50_000 {
		t.Errorf("the next message is asked with %+v, window %d, budget %d", req.Options, a.Model().Info.Context,
			a.Conversation().Budget())
	}
}

// What the history may have depends on the model that is asked.
func TestAMessageToAnotherModelFitsItsWindow(t *testing.T) {
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
