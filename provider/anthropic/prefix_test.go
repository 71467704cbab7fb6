package anthropic_test

import (
	"bytes"
	"fmt"
	"testing"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/providertest"
)

// TestThePrefixHoldsWhileAModelThinks plays two turns of several steps with an
// effort set. These models think once, when a turn begins; the switch for it
// stands before the history and must not change from step to step.
func TestThePrefixHoldsWhileAModelThinks(t *testing.T) {
	t.Parallel()
	script := []providertest.Reply{
		providertest.Anthropic(providertest.Reason("let me see"), providertest.Call("a1", "read", `{}`)),
		providertest.Anthropic(providertest.Call("a2", "read", `{}`), providertest.Call("a3", "read", `{}`)),
		providertest.Anthropic(providertest.Call("a4", "read", `{}`)),
		providertest.Anthropic(providertest.Text("so")),
		providertest.Anthropic(providertest.Call("a5", "read", `{}`)), // may think, and does not
		providertest.Anthropic(providertest.Text("done")),
	}
	for model, switched := range map[string]bool{"claude-sonnet-4-5": true, "claude-opus-4-8": false,
		"claude-opus-5": false} {
		t.Run(model, func(t *testing.T) {
			s := providertest.NewServer(t, script...)
			p := &anthropic.Provider{Server: provider.Server{Name: "p", BaseURL: s.URL, HTTP: s.HTTP}}
			req := provider.Request{Options: provider.Options{Model: model, MaxTokens: 8000,
				Effort: provider.EffortHigh}, Messages: []provider.Message{provider.UserText("go")}}
			for range script {
				r := providertest.Collect(p.Stream(t.Context(), req))
				if r.Err != nil {
					t.Fatal(r.Err)
				}
				req.Messages = append(req.Messages, r.Done.Message)
				for _, c := range r.Done.Message.Calls() {
					req.Messages = append(req.Messages, provider.Message{Role: provider.RoleTool,
						Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Text: "x"}}})
				}
				if len(r.Done.Message.Calls()) == 0 {
					req.Messages = append(req.Messages, provider.UserText("and?"))
				}
			}
			seen := s.Requests()
			for i := 1; i < len(seen); i++ {
				before := bytes.TrimRight(suite().Unmark(seen[i-1].Body), "]}")
				// A turn that began without a thought cannot be given one later:
				// there, and only there, an older model's switch is let go.
				want := !(switched && i == 5)
				if got := bytes.HasPrefix(suite().Unmark(seen[i].Body), before); got != want {
					t.Errorf("request %d is a prefix of the next: %v, want %v\n%s\n%s", i-1, got, want, before,
						seen[i].Body)
				}
				if err := providertest.Validate(providertest.WireAnthropic, seen[i].Body); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestALoopIsJudgedByItsFirstStep shows that later messages of the user, and older
// loops, do not count.
func TestALoopIsJudgedByItsFirstStep(t *testing.T) {
	t.Parallel()
	step := func(id string, thinks bool) []provider.Message {
		m := provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "claude-sonnet-4-5"}
		if thinks {
			m.Parts = append(m.Parts, provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "sig"})
		}
		m.Parts = append(m.Parts, provider.ToolCall{ID: id, Name: "read", Input: []byte(`{}`)})
		return []provider.Message{m, {Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Text: "x"}}}}
	}
	user := []provider.Message{provider.UserText("go")}
	for i, tc := range []struct {
		history [][]provider.Message
		want    bool
	}{
		{[][]provider.Message{user}, true},
		{[][]provider.Message{user, step("a", true)}, true},
		{[][]provider.Message{user, step("a", false)}, false},
		{[][]provider.Message{user, step("a", true), step("b", false), step("c", false)}, true},
		{[][]provider.Message{user, step("a", false), step("b", false)}, false},
		{[][]provider.Message{user, step("a", false), user, step("b", true)}, true},
		{[][]provider.Message{user, step("a", true), user, step("b", false)}, false},
		{[][]provider.Message{user, step("a", false), user}, false}, // the user cut in: results and words are one message
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			s := providertest.NewServer(t, providertest.Anthropic(providertest.Text("ok")))
			p := &anthropic.Provider{Server: provider.Server{Name: "p", BaseURL: s.URL, HTTP: s.HTTP}}
			req := provider.Request{Options: provider.Options{Model: "claude-sonnet-4-5", MaxTokens: 8000,
				Effort: provider.EffortHigh}}
			for _, m := range tc.history {
				req.Messages = append(req.Messages, m...)
			}
			if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
				t.Fatal(r.Err)
			}
			if got := bytes.Contains(s.Requests()[0].Body, []byte(`"budget_tokens"`)); got != tc.want {
				t.Errorf("thinking asked for: %v, want %v\n%s", got, tc.want, s.Requests()[0].Body)
			}
		})
	}
}
