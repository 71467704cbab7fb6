package ollama

import (
	"encoding/json"
	"flag"
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
	"artoo/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func session() provider.Request {
	temperature := 0.5
	tool := func(id, text string, images ...provider.Image) provider.Message {
		return provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Name: "read", Text: text, Images: images}}}
	}
	own := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "o", Model: "m", Parts: parts}
	}
	call := func(id string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{"path": "a"}`)}
	}
	return provider.Request{
		Options: provider.Options{Model: "m", MaxTokens: 4000, Temperature: &temperature, Effort: provider.EffortHigh},
		System:  "Be <brief>.",
		Tools: []provider.ToolSpec{{Name: "read", Description: "Reads & shows.",
			Schema: json.RawMessage(`{"type": "object", "properties": {"path": {"type": "string"}}}`)}},
		Messages: []provider.Message{
			provider.UserText("look", provider.Image{MediaType: "image/png", Data: []byte("PNG")}),
			own(provider.Reasoning{Text: "hm", Form: wire.FormThinking}, provider.Text{Text: "I look."}, call("c1"), call("c2")),
			tool("c1", "one", provider.Image{MediaType: "image/webp", Data: []byte("W")}),
			tool("c2", " "),
			own(call("c3")),
			tool("c3", "", provider.Image{MediaType: "image/png", Data: []byte("P")}),
			{Role: provider.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: []provider.Part{
				provider.Reasoning{Text: "foreign", Form: "thinking", Opaque: "x"}, provider.Text{Text: "yes"},
				call("functions.read:0")}},
			tool("functions.read:0", "four"),
			provider.UserText("go on"),
			provider.UserText("please"),
		},
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]facts{
		"able":    {window: 32768, listed: true, tools: true, thinking: true, vision: true},
		"plain":   {window: 4096, listed: true},
		"levels":  {window: 131072, listed: true, tools: true, thinking: true, levels: true},
		"unknown": {},
	} {
		t.Run(name, func(t *testing.T) {
			body, size, err := encode("o", session(), f, "30m")
			if err != nil {
				t.Fatal(err)
			}
			if err := providertest.Validate(providertest.WireOllama, body); err != nil {
				t.Error(err)
			}
			images := 0
			if f.maySee() {
				images = len("UE5H" + "Vw==" + "UA==")
			}
			if want := len(body) - images - len("hm"); size != want {
				t.Errorf("size %d of %d bytes, want %d", size, len(body), want)
			}
			providertest.Golden(t, name, body, *update)
		})
	}
}

func TestThink(t *testing.T) {
	t.Parallel()
	can, levels, cannot := facts{listed: true, thinking: true}, facts{listed: true, thinking: true, levels: true},
		facts{listed: true}
	for _, tc := range []struct {
		f      facts
		effort provider.Effort
		want   string
	}{
		{can, "", ""}, {can, provider.EffortOff, "false"}, {can, provider.EffortLow, "true"},
		{can, provider.EffortMax, "true"}, {levels, "", ""}, {levels, provider.EffortOff, `"low"`},
		{levels, provider.EffortLow, `"low"`}, {levels, provider.EffortMedium, `"medium"`},
		{levels, provider.EffortHigh, `"high"`}, {levels, provider.EffortMax, `"high"`},
		{cannot, provider.EffortHigh, ""}, {cannot, provider.EffortOff, ""}, {facts{}, provider.EffortOff, "false"},
		{facts{listed: true, thinking: true, noThinking: true}, provider.EffortHigh, ""},
	} {
		if got := string(tc.f.think(tc.effort)); got != tc.want {
			t.Errorf("%+v %q: %s, want %s", tc.f, tc.effort, got, tc.want)
		}
	}
}

// TestParameters: a schema that the server cannot read is written in the words that all know.
func TestParameters(t *testing.T) {
	t.Parallel()
	const none = `{"properties":{},"type":"object"}`
	for in, want := range map[string]string{
		``: `{"type":"object","properties":{}}`, `true`: none, `null`: none, `[]`: none, `{"type":"object"}`: none,
		`{"type":"object","properties":{"a":{"type":["string","null"]}},"$schema":"x"}`: `{"type":"object","properties":{"a":{"type":["string","null"]}},"$schema":"x"}`,
		`{"properties":{"a":true,"b":{}}}`:                                              `{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"type":"object"}`,
		`{"type":["object"],"properties":null}`:                                         none,
		`{"type":"object","properties":["a","b"]}`:                                      none,
		// As drafts before 4 had it, and some servers still write it.
		`{"type":"object","required":true,"properties":{"a":{"type":"string","required":true}}}`:                              `{"properties":{"a":{"type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":5,"description":["d"],"properties":{"b":false,"c":{"required":["d"]}}}}}`: `{"properties":{"a":{"properties":{"b":{"type":"string"},"c":{"type":"string"}},"type":"object"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"anyOf":[true,{"type":{},"description":"d"}],"enum":"x"}}}`:                      `{"properties":{"a":{"description":"d","type":"string"}},"type":"object"}`,
	} {
		if got := string(parameters(json.RawMessage(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
