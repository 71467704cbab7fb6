package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
	"artoo/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func session(name, model string) provider.Request {
	temperature := 0.5
	tool := func(id, text string, images ...provider.Image) provider.Message {
		return provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Name: "read", Text: text, Images: images}}}
	}
	own := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: name, Model: model, Parts: parts}
	}
	details := ""
	if name == "openrouter" {
		details = `[{"type":"reasoning.text","text":"hm","signature":"c2ln+/==","index":0}]`
	}
	return provider.Request{
		Options:   provider.Options{Model: model, MaxTokens: 4000, Temperature: &temperature, Effort: provider.EffortMax},
		System:    "Be <brief>.",
		SessionID: "s-1",
		Tools: []provider.ToolSpec{{Name: "read", Description: "Reads & shows.",
			Schema: json.RawMessage(`{"type": "object", "properties": {"path": {"type": "string"}}}`)}},
		Messages: []provider.Message{
			provider.UserText("look", provider.Image{MediaType: "image/png", Data: []byte("PNG")}),
			own(provider.Reasoning{Text: "hm", Form: "reasoning_content", Opaque: details}, provider.Text{Text: "I look."},
				provider.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path": "a"}`)},
				provider.ToolCall{ID: "c2", Name: "read", Input: json.RawMessage(`{}`), Raw: "{"}),
			tool("c1", "one", provider.Image{MediaType: "image/webp", Data: []byte("W")}),
			tool("c2", ""),
			own(provider.ToolCall{ID: "c3", Name: "read", Input: json.RawMessage(`{}`)}),
			tool("c3", "three"),
			{Role: provider.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: []provider.Part{
				provider.Reasoning{Text: "foreign", Form: "thinking", Opaque: "x"}, provider.Text{Text: "yes"}}},
			provider.UserText("go on"),
			provider.UserText("please"),
		},
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]string{"openai": "gpt-5.6-sol", "openrouter": "anthropic/claude-sonnet-4.5",
		"deepseek": "deepseek-v4-pro", "compatible": "tiny"} {
		t.Run(name, func(t *testing.T) {
			body, err := encode(name, QuirksFor(name), session(name, model), wire.Learned{})
			if err != nil {
				t.Fatal(err)
			}
			if err := providertest.Validate(providertest.WireChat, body); err != nil {
				t.Error(err)
			}
			providertest.Golden(t, name, body, *update)
		})
	}
}

func TestEffortWords(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		effort provider.Effort
		want   string
	}{
		{"openai", "", ``}, {"openrouter", "", ``}, {"deepseek", "", ``}, {"compatible", "", ``},
		{"openai", provider.EffortOff, `"reasoning_effort":"none"`},
		{"openai", provider.EffortMax, `"reasoning_effort":"xhigh"`},
		{"openrouter", provider.EffortOff, `"reasoning":{"enabled":false}`},
		{"openrouter", provider.EffortLow, `"reasoning":{"effort":"low"}`},
		{"deepseek", provider.EffortOff, `"thinking":{"type":"disabled"}`},
		{"deepseek", provider.EffortMax, `"thinking":{"type":"enabled"},"reasoning_effort":"max"`},
		{"compatible", provider.EffortMax, `"reasoning_effort":"high"`},
	} {
		req := provider.Request{Options: provider.Options{Model: "m", Effort: tc.effort},
			Messages: []provider.Message{provider.UserText("hi")}}
		body, err := encode(tc.name, QuirksFor(tc.name), req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		if tc.want == "" && (bytes.Contains(body, []byte("reasoning")) || bytes.Contains(body, []byte("thinking"))) ||
			!bytes.Contains(body, []byte(tc.want)) {
			t.Errorf("%s %q: %s, want %s", tc.name, tc.effort, body, tc.want)
		}
	}
}

// TestMarksOnlyForClaude: OpenRouter passes the marks on, and only Anthropic
// knows them.
func TestMarksOnlyForClaude(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]bool{"anthropic/claude-opus-5": true, "qwen/qwen3": false} {
		req := session("openrouter", model)
		for range 8 {
			req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant,
				Parts: []provider.Part{provider.Text{Text: "x"}}}, provider.UserText("y"))
		}
		body, err := encode("openrouter", QuirksFor("openrouter"), req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(body, []byte("cache_control")); (n > 0) != want || n > 4 {
			t.Errorf("%s: %d marks", model, n)
		}
	}
}

// TestThePrefixHoldsWithMarks: with a Claude behind OpenRouter every content is
// a list, and marks come and go as the session grows.
func TestThePrefixHoldsWithMarks(t *testing.T) {
	t.Parallel()
	req := session("openrouter", "anthropic/claude-sonnet-4.5")
	all := req.Messages
	var before []byte
	for n := 1; n <= len(all); n++ {
		if last := all[n-1]; last.Role == provider.RoleAssistant || n < len(all) && all[n].Role == provider.RoleTool {
			continue // no request ends there
		}
		req.Messages = all[:n]
		raw, err := encode("openrouter", QuirksFor("openrouter"), req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		raw = bytes.ReplaceAll(raw, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		if !bytes.HasPrefix(raw, before) {
			t.Errorf("at %d messages the prefix breaks:\n%s\n%s", n, before, raw)
		}
		before = bytes.TrimRight(raw, "]}")
	}
}
