package anthropic

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http"
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
	"artoo/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func session() provider.Request {
	temperature := 0.5
	own := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "anthropic", Model: "claude-sonnet-4-5",
			Parts: parts}
	}
	tool := func(id, text string, images ...provider.Image) provider.Message {
		return provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Name: "read", Text: text, Images: images,
				IsError: id == "toolu_2"}}}
	}
	return provider.Request{
		Options: provider.Options{Model: "claude-sonnet-4-5", MaxTokens: 4000, Temperature: &temperature},
		System:  "Be <brief>.",
		Tools: []provider.ToolSpec{{Name: "read", Description: "Reads & shows.",
			Schema: json.RawMessage(`{"type": "object", "properties": {"path": {"type": "string"}}}`)}},
		Messages: []provider.Message{
			provider.UserText("look", provider.Image{MediaType: "image/png", Data: []byte("PNG")},
				provider.Image{MediaType: "image/bmp", Data: []byte("BM")}),
			own(provider.Reasoning{Text: "hm\n", Form: "thinking", Opaque: "c2ln+/=="},
				provider.Reasoning{Form: "redacted_thinking", Opaque: "ZGF0YQ"},
				provider.Text{Text: "\n\n"}, provider.Text{Text: "I look."},
				provider.ToolCall{ID: "toolu_1", Name: "read", Input: json.RawMessage(`{"path": "a"}`)},
				provider.ToolCall{ID: "toolu_2", Name: "read", Input: json.RawMessage(`{}`), Raw: "{"}),
			tool("toolu_1", "one", provider.Image{MediaType: "image/webp", Data: []byte("W")}),
			tool("toolu_2", ""),
			provider.UserText("stop that"),
			{Role: provider.RoleAssistant, Provider: "openai", Model: "gpt", Parts: []provider.Part{
				provider.Reasoning{Text: "foreign", Form: "thinking", Opaque: "x"}, provider.Text{Text: "yes"}}},
			provider.UserText("go on"),
		},
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	tests := map[string]func(*provider.Request){
		"session":  func(*provider.Request) {},
		"thinking": func(r *provider.Request) { r.Effort = provider.EffortHigh },
		"bare": func(r *provider.Request) {
			*r = provider.Request{Messages: []provider.Message{provider.UserText("hi")},
				Options: provider.Options{Model: "m"}}
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			req := session()
			change(&req)
			body, err := encoded("anthropic", req, wire.Learned{})
			if err != nil {
				t.Fatal(err)
			}
			if err := providertest.Validate(providertest.WireAnthropic, body); err != nil {
				t.Error(err)
			}
			providertest.Golden(t, name, body, *update)
		})
	}
}

// TestNoBudgetInTheMiddleOfALoopMadeWithoutThought: the API answers such a
// history with a 400 about the missing first thought.
func TestNoBudgetInTheMiddleOfALoopMadeWithoutThought(t *testing.T) {
	t.Parallel()
	req := session()
	req.Effort = provider.EffortHigh
	req.Messages = req.Messages[:4]
	for _, tc := range []struct {
		name string
		cut  int // parts of the assistant's message to leave out
		want bool
	}{{"with", 0, true}, {"without", 2, false}} {
		msgs := append([]provider.Message{}, req.Messages...)
		msgs[1].Parts = msgs[1].Parts[tc.cut:]
		r := req
		r.Messages = msgs
		raw, err := encoded("anthropic", r, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(raw, []byte(`"budget_tokens"`)); got != tc.want {
			t.Errorf("%s a thought: budget sent %v, want %v", tc.name, got, tc.want)
		}
	}
}

func TestMarksStandWhereThePreviousRequestEnded(t *testing.T) {
	t.Parallel()
	req := session()
	var places []string
	for range 6 {
		raw, err := encoded("anthropic", req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		mark := []byte(`,"cache_control":{"type":"ephemeral"}`)
		if n := bytes.Count(raw, mark); n < 2 || n > 4 {
			t.Errorf("%d marks", n)
		}
		// Where the marks stand, as lengths of the unmarked prefix.
		var now []string
		rest := raw
		prefix := []byte{}
		for {
			i := bytes.Index(rest, mark)
			if i < 0 {
				break
			}
			prefix = append(prefix, rest[:i]...)
			now = append(now, string(prefix))
			rest = rest[i+len(mark):]
		}
		if len(places) > 0 && !contains(now, places[len(places)-1]) {
			t.Error("no mark where the previous request wrote its last")
		}
		places = now
		step := provider.Message{Role: provider.RoleAssistant, Provider: "anthropic", Model: req.Model}
		var results []provider.Message
		for i := range 25 {
			id := "t" + string(rune('a'+i)) + string(rune('a'+len(req.Messages)%26))
			step.Parts = append(step.Parts, provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`)})
			results = append(results, provider.Message{Role: provider.RoleTool,
				Parts: []provider.Part{provider.ToolResult{CallID: id, Text: "x"}}})
		}
		req.Messages = append(append(req.Messages, step), results...)
	}
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}

func TestCutThoughtsGoBackOnlyWhereTheyAreTaken(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"claude-opus-4-8": false, "qwen3": true} {
		req := provider.Request{Options: provider.Options{Model: model}, Messages: []provider.Message{
			provider.UserText("hi"),
			{Role: provider.RoleAssistant, Provider: "p", Model: model,
				Parts: []provider.Part{provider.Reasoning{Text: "half", Form: "thinking"}, provider.Text{Text: "x"}}},
			provider.UserText("more"),
		}}
		raw, err := encoded("p", req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Contains(raw, []byte("half")); got != want {
			t.Errorf("%s: %v, want %v", model, got, want)
		}
	}
}

func encoded(name string, req provider.Request, l wire.Learned) ([]byte, error) {
	return encode(provider.Server{Name: name}, req, l, http.Header{})
}
