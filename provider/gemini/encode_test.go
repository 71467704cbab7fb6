package gemini

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
	"artoo/provider/providertest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func session(model string) provider.Request {
	temperature := 0.5
	tool := func(id, text string, isError bool, images ...provider.Image) provider.Message {
		return provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
			provider.ToolResult{CallID: id, Name: "read", Text: text, IsError: isError, Images: images}}}
	}
	own := func(parts ...provider.Part) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "g", Model: model, Parts: parts}
	}
	call := func(id, opaque string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{"path": "a"}`), Opaque: opaque}
	}
	foreign := call("functions.read:0", "theirs")
	foreign.Name = "9 read"
	return provider.Request{
		Options: provider.Options{Model: model, MaxTokens: 4000, Temperature: &temperature, Effort: provider.EffortHigh},
		System:  "Be <brief>.",
		Tools: []provider.ToolSpec{{Name: "read", Description: "Reads & shows.",
			Schema: json.RawMessage(
				`{"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": false}`)}},
		Messages: []provider.Message{
			provider.UserText("look", provider.Image{MediaType: "image/png", Data: []byte("PNG")},
				provider.Image{MediaType: "image/gif", Data: []byte("GIF")}),
			own(provider.Reasoning{Text: "hm", Form: formThought},
				provider.Reasoning{Text: "so", Form: formThought, Opaque: "c2ln+1/=="},
				provider.Text{Text: "I "}, provider.Text{Text: "look.", Opaque: "c2ln-2_"}, call("c1", "sig3+/=="),
				call("c2", "")),
			tool("c1", "one", false, provider.Image{MediaType: "image/webp", Data: []byte("W")}),
			tool("c2", "no such file", true),
			own(call("c3", "sig4")),
			tool("c3", "", false, provider.Image{MediaType: "image/gif", Data: []byte("GIF")}),
			own(provider.Text{Text: "Yes."}, provider.Text{Opaque: "end+/="}),
			provider.UserText("go on"),
			{Role: provider.RoleAssistant, Provider: "anthropic", Model: "claude", Parts: []provider.Part{
				provider.Reasoning{Text: "foreign", Form: "thinking", Opaque: "x"},
				provider.Text{Text: "yes", Opaque: "y"}, foreign, call("c4", "")}},
			tool("functions.read:0", "four", false),
			tool("c4", "five", false),
			provider.UserText("please"),
			provider.UserText("now"),
		},
	}
}

func TestGoldenRequests(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gemini-3.1-pro-preview", "gemini-2.5-flash", "gemma-3-27b-it"} {
		t.Run(model, func(t *testing.T) {
			body, err := encode("g", session(model), wire.Learned{})
			if err != nil {
				t.Fatal(err)
			}
			if err := providertest.Validate(providertest.WireGemini, body); err != nil {
				t.Error(err)
			}
			providertest.Golden(t, model, body, *update)
		})
	}
}

// TestThePrefixHolds: the stand-in for a lost signature stays there,
// and results and their images do not move.
func TestThePrefixHolds(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"gemini-3.1-pro-preview", "gemini-2.5-flash"} {
		req := session(model)
		all := req.Messages
		var before []byte
		for n := 1; n <= len(all); n++ {
			if all[n-1].Role == provider.RoleAssistant || n < len(all) && all[n].Role == provider.RoleTool {
				continue // no request ends there
			}
			req.Messages = all[:n]
			raw, err := encode("g", req, wire.Learned{})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(raw, before) {
				t.Errorf("%s: at %d messages the prefix breaks:\n%s\n%s", model, n, before, raw)
			}
			before = bytes.TrimRight(raw, "]}")
		}
	}
}

func TestThinking(t *testing.T) {
	t.Parallel()
	const (
		unset, off, low, medium, high, most = "", provider.EffortOff, provider.EffortLow, provider.EffortMedium,
			provider.EffortHigh, provider.EffortMax
	)
	for _, tc := range []struct {
		model  string
		effort provider.Effort
		limit  int
		want   string // value of thinkingConfig; "" for none
	}{
		{"gemini-1.5-pro", high, 8000, ``},
		{"gemini-2.0-flash", high, 8000, ``},
		{"gemma-3-27b-it", high, 8000, ``},
		{"gemini-2.5-flash", unset, 8000, `{"includeThoughts":true}`},
		{"gemini-2.5-flash", off, 8000, `{"thinkingBudget":0}`},
		{"gemini-2.5-flash", low, 8000, `{"includeThoughts":true,"thinkingBudget":2000}`},
		{"gemini-2.5-flash", medium, 8000, `{"includeThoughts":true,"thinkingBudget":4000}`},
		{"gemini-2.5-flash", high, 8000, `{"includeThoughts":true,"thinkingBudget":6000}`},
		{"gemini-2.5-flash", most, 65536, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-2.5-flash", most, 0, `{"includeThoughts":true,"thinkingBudget":22118}`},
		{"gemini-2.5-pro", off, 8000, `{"includeThoughts":true,"thinkingBudget":128}`},
		{"gemini-2.5-pro", most, 65536, `{"includeThoughts":true,"thinkingBudget":32768}`},
		{"gemini-2.5-flash-lite", unset, 8000, ``},
		{"gemini-2.5-flash-lite", low, 1000, `{"includeThoughts":true,"thinkingBudget":512}`},
		{"models/gemini-3-pro-preview", off, 8000, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-3-pro-preview", medium, 8000, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-3.1-pro-preview", medium, 8000, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3.1-flash-lite", unset, 8000, `{"includeThoughts":true}`},
		{"gemini-3.7-flash", off, 8000, `{"includeThoughts":true,"thinkingLevel":"MINIMAL"}`},
		{"gemini-3.7-flash", most, 8000, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-4-argon", low, 8000, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-flash-latest", low, 8000, `{"includeThoughts":true,"thinkingLevel":"LOW"}`},
		{"gemini-2.5-pro-preview-05-06", low, 8000, `{"includeThoughts":true,"thinkingBudget":2000}`},
	} {
		t.Run(fmt.Sprint(tc.model, " ", tc.effort), func(t *testing.T) {
			req := provider.Request{Options: provider.Options{Model: tc.model, MaxTokens: tc.limit, Effort: tc.effort},
				Messages: []provider.Message{provider.UserText("hi")}}
			raw, err := encode("g", req, wire.Learned{})
			if err != nil {
				t.Fatal(err)
			}
			var b struct {
				Generation struct {
					Thinking json.RawMessage `json:"thinkingConfig"`
				} `json:"generationConfig"`
			}
			if err := json.Unmarshal(raw, &b); err != nil {
				t.Fatal(err)
			}
			if got := string(b.Generation.Thinking); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

// TestAnAnswersSchemaGoesWithToolsSinceGemini3, and never to Gemma.
func TestAnAnswersSchemaGoesWithToolsSinceGemini3(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"array","items":{"type":"string"}}`)
	tools := []provider.ToolSpec{{Name: "read", Schema: json.RawMessage(`{"type":"object"}`)}}
	for _, c := range []struct {
		model  string
		tools  []provider.ToolSpec
		omits  wire.Omission
		schema json.RawMessage
		want   bool
	}{
		{"gemini-3-pro-preview", tools, 0, schema, true}, {"gemini-3.1-flash-lite", tools, 0, schema, true},
		{"gemini-2.5-pro", tools, 0, schema, false}, {"gemini-2.5-pro", nil, 0, schema, true},
		{"gemma-3-27b-it", nil, 0, schema, false}, {"gemini-3-pro-preview", nil, wire.Structure, schema, false},
		{"gemini-3-pro-preview", nil, 0, nil, false},
		{"gemini-3-pro-preview", nil, 0, json.RawMessage(`{"type":"array"}`), false},
	} {
		req := provider.Request{Options: provider.Options{Model: c.model}, Schema: c.schema, Tools: c.tools,
			Messages: []provider.Message{provider.UserText("hi")}}
		raw, err := encode("g", req, wire.Learned{Omitted: c.omits})
		if err != nil {
			t.Fatal(err)
		}
		held := bytes.Contains(raw, []byte(`"responseMimeType":"application/json"`)) && bytes.Contains(raw, c.schema)
		if held != c.want {
			t.Errorf("%s with %d tools: %s", c.model, len(c.tools), raw)
		}
	}
}

func TestSubset(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"nothing", ``, `{"properties":{},"type":"object"}`},
		{"unknown keys",
			`{"$schema":"x","type":"object","additionalProperties":false,"properties":{"a":{"type":"string","format":"uri","propertyNames":{},"multipleOf":2,"minLength":1}},"required":["a","b"]}`,
			`{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"}`},
		{"const", `{"properties":{"a":{"const":"x"},"n":{"const":7}}}`,
			`{"properties":{"a":{"enum":["x"],"type":"string"},"n":{"type":"string"}},"type":"object"}`},
		{"a type that may be null",
			`{"properties":{"a":{"type":["integer","null"],"exclusiveMinimum":0,"exclusiveMaximum":9}}}`,
			`{"properties":{"a":{"type":"integer"}},"type":"object"}`},
		{"several types", `{"properties":{"a":{"type":["string","array"],"items":{"type":"integer"}}}}`,
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"items":{"type":"integer"},"type":"array"}]}},"type":"object"}`},
		{"an array without items",
			`{"properties":{"a":{"type":"array","uniqueItems":true},"b":{"type":"array","items":{}},"c":{"type":"array","items":true}}}`,
			`{"properties":{"a":{"items":{"type":"string"},"type":"array"},"b":{"items":{"type":"string"},"type":"array"},"c":{"items":{"type":"string"},"type":"array"}},"type":"object"}`},
		{"choices",
			`{"properties":{"a":{"oneOf":[{"type":"string"},{"type":"null"}]},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`},
		{"allOf",
			`{"properties":{"a":{"allOf":[{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},{"properties":{"y":{"type":"integer"}}}]}}}`,
			`{"properties":{"a":{"properties":{"x":{"type":"string"},"y":{"type":"integer"}},"required":["x"],"type":"object"}},"type":"object"}`},
		{"references",
			`{"$defs":{"p":{"type":"object","properties":{"next":{"$ref":"#/$defs/q~1r"}}},"q/r":{"type":"string","enum":["a"]}},"properties":{"a":{"$ref":"#/$defs/p","description":"d"},"b":{"$ref":"http://elsewhere"}}}`,
			`{"properties":{"a":{"description":"d","properties":{"next":{"enum":["a"],"type":"string"}},"type":"object"},"b":{"type":"string"}},"type":"object"}`},
		{"an object of nothing inside",
			`{"properties":{"a":{"type":"object","properties":{},"required":["x"]},"b":{"type":"array","items":{"type":"object","properties":{}}}}}`,
			`{"properties":{"a":{"type":"object"},"b":{"items":{"type":"object"},"type":"array"}},"type":"object"}`},
		{"what belongs to another type",
			`{"properties":{"a":{"type":"string","properties":{"x":{"type":"string"}},"items":{"type":"string"},"minimum":1,"maxItems":2},"b":{"type":"integer","minLength":1,"pattern":"x","minimum":2},"c":{"const":"x","type":"object","properties":{"y":{}}}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{"enum":["x"],"type":"string"}},"type":"object"}`},
		{"choices beside other things",
			`{"properties":{"a":{"description":"d","minimum":1,"properties":{"x":{"type":"string"}},"anyOf":[{"type":"string"},{"description":"all"},{"type":["null","integer","boolean"]}]}}}`,
			`{"properties":{"a":{"anyOf":[{"type":"string"},{"description":"all","type":"string"},{"anyOf":[{"type":"integer"},{"type":"boolean"}]}],"description":"d"}},"type":"object"}`},
		{"choices at the root",
			`{"properties":{"x":{"type":"string"}},"anyOf":[{"properties":{"y":{"type":"integer"}},"required":["y"]},{"required":["x"]},{"type":"string"}]}`,
			`{"properties":{"x":{"type":"string"},"y":{"type":"integer"}},"type":"object"}`},
		{"no type at all", `{"properties":{"a":{"description":"x"},"b":true}}`,
			`{"properties":{"a":{"description":"x","type":"string"},"b":{"type":"string"}},"type":"object"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := wire.Subset(json.RawMessage(tc.in), false)
			if string(got) != tc.want {
				t.Errorf("\n%s, want\n%s", got, tc.want)
			}
			if err := providertest.Validate(providertest.WireGemini,
				[]byte(`{"tools":[{"functionDeclarations":[{"name":"a","parameters":`+strings.Replace(string(got), `"properties":{},`, "", 1)+
					`}]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestSubsetOfItself: a schema that holds itself ends, and soon.
func TestSubsetOfItself(t *testing.T) {
	t.Parallel()
	got := wire.Subset(json.RawMessage(
		`{"type":"object","properties":{"child":{"$ref":"#"},"more":{"type":"array","items":{"$ref":"#"}}}}`), false)
	if want := `{"properties":{"child":{"type":"string"},"more":{"items":{"type":"string"},"type":"array"}},"type":"object"}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	wide := `{"$defs":{"d0":{"type":"string"}`
	for i := range 30 { // written out, it has 2^30 leaves
		wide += fmt.Sprintf(
			`,"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i+1, i, i)
	}
	wide += `},"properties":{"a":{"$ref":"#/$defs/d30"}}}`
	if got = wire.Subset(json.RawMessage(wide), false); len(got) > 256<<10 ||
		!bytes.Equal(got, wire.Subset(json.RawMessage(wide), false)) {
		t.Errorf("%d bytes, or not the same twice", len(got))
	}
}
