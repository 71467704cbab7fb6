package anthropic_test

import (
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
)

const interleaved = "interleaved-thinking-2025-05-14"

// TestModelsWithABudgetThinkBetweenCalls where they can: those that are told of an
// effort do so by themselves, and 3.7 cannot.
func TestModelsWithABudgetThinkBetweenCalls(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model  string
		effort provider.Effort
		own    string
		want   string
	}{
		{"claude-sonnet-4-5", provider.EffortHigh, "", interleaved},
		{"claude-opus-4-20250514", provider.EffortLow, "", interleaved},
		{"claude-haiku-4-5", provider.EffortMax, "context-1m-2025-08-07", "context-1m-2025-08-07," + interleaved},
		{"claude-sonnet-4-5", "", "", ""},
		{"claude-sonnet-4-5", provider.EffortOff, "", ""},
		{"claude-3-7-sonnet-20250219", provider.EffortHigh, "", ""},
		{"claude-opus-4-6", provider.EffortHigh, "", ""},
		{"claude-opus-5", provider.EffortHigh, "", ""},
		{"deepseek-chat", provider.EffortHigh, "", ""},
	} {
		p, s := learner(t, providertest.Anthropic(providertest.Text("ok")))
		if tc.own != "" {
			p.Headers = map[string]string{"anthropic-beta": tc.own}
		}
		if r := providertest.Collect(p.Stream(t.Context(), hello(tc.model, tc.effort))); r.Err != nil {
			t.Fatal(r.Err)
		}
		if got := s.Requests()[0].Header.Get("Anthropic-Beta"); got != tc.want {
			t.Errorf("%s at effort %q: %q, want %q", tc.model, tc.effort, got, tc.want)
		}
	}
}

// TestAGatewayThatKnowsNoBetas is asked without from then on, and nobody is told:
// nothing that was promised is lost.
func TestAGatewayThatKnowsNoBetas(t *testing.T) {
	t.Parallel()
	p, s := learner(t, bad("Unexpected value(s) `"+interleaved+"` for the `anthropic-beta` header."))
	if told := askTwice(t, p, s, hello("claude-sonnet-4-5", provider.EffortHigh)); len(told) > 0 {
		t.Errorf("told %q", told)
	}
	for i, want := range []string{interleaved, "", ""} {
		seen := s.Requests()[i]
		if got := seen.Header.Get("Anthropic-Beta"); got != want {
			t.Errorf("request %d: %q, want %q", i, got, want)
		}
		if !strings.Contains(string(seen.Body), `"budget_tokens"`) {
			t.Errorf("request %d asks for no reasoning: %s", i, seen.Body)
		}
	}
}

// TestAPausedReplyGoesBackAsItIs, its reasoning too, with no word behind it.
func TestAPausedReplyGoesBackAsItIs(t *testing.T) {
	t.Parallel()
	p, s := learner(t, providertest.Anthropic(providertest.Text("ok")))
	req := hello("claude-sonnet-4-5", provider.EffortHigh)
	paused := provider.Message{Role: provider.RoleAssistant, Provider: p.Name, Model: req.Model, Parts: []provider.Part{
		provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "c2ln"}, provider.Text{Text: "looking it up"}}}
	for _, m := range []provider.Message{paused,
		{Role: paused.Role, Provider: paused.Provider, Model: paused.Model, Parts: paused.Parts[:1]}} {
		req.Messages = provider.RepairPaused([]provider.Message{provider.UserText("hi"), m})
		if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
			t.Fatal(r.Err)
		}
		seen := s.Requests()
		body := string(seen[len(seen)-1].Body)
		end := `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
		if len(m.Parts) > 1 {
			end += `,{"type":"text","text":"looking it up"`
		}
		if !strings.Contains(body, `{"role":"assistant","content":[`+end) || strings.Contains(body, "Continue.") {
			t.Errorf("sent %s", body)
		}
	}
}
