package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/providertest"
	"artoo/tool"
	"artoo/tool/sweep"
)

// asked is a schema with answers that fit and do not. held are the wires whose servers hold a model to it while it
// may call tools: a(nthropic) and converse, r(esponses), g(emini).
type asked struct{ schema, good, bad, held string }

// thirtySchemas are of all kinds that users write.
var thirtySchemas = []asked{
	{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":"x"}`, `{"a":1}`, "arg"},
	{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`, `{"a":"x"}`, `{"a":"x","b":1}`, "arg"},
	{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`, `{"a":"x"}`, `{"b":1}`, "ag"},
	{`{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}},"required":["a"]}`, `{"a":"x"}`, `{"a":"X"}`, "arg"},
	{`{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":3}},"required":["a"]}`, `{"a":"xy"}`, `{"a":"x"}`, "arg"},
	{`{"type":"object","properties":{"n":{"type":"integer","minimum":1,"maximum":9}},"required":["n"]}`, `{"n":9}`, `{"n":10}`, "arg"},
	{`{"type":"object","properties":{"n":{"type":"number","multipleOf":0.5}},"required":["n"]}`, `{"n":1.5}`, `{"n":1.2}`, "arg"},
	{`{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}},"required":["l"]}`, `{"l":["a"]}`, `{"l":["a","a"]}`, "arg"},
	{`{"type":"object","properties":{"e":{"enum":["red","green"]}},"required":["e"]}`, `{"e":"red"}`, `{"e":"blue"}`, "arg"},
	{`{"type":"object","properties":{"e":{"const":3}},"required":["e"]}`, `{"e":3}`, `{"e":4}`, "arg"},
	{`{"type":"object","properties":{"e":{"enum":["a",1,null]}},"required":["e"]}`, `{"e":null}`, `{"e":2}`, ""},
	{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`, `{"a":null}`, `{"a":1}`, "arg"},
	{`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"required":["a"]}`, `{"a":1}`, `{"a":true}`, "arg"},
	{`{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"type":"integer"}]}},"required":["a"]}`, `{"a":"x"}`, `{"a":[]}`, "arg"},
	{`{"type":"object","properties":{"a":{"$ref":"#/$defs/p"}},"required":["a"],"$defs":{"p":{"type":"object","properties":{"x":{"$ref":"#/$defs/q"}},"required":["x"]},"q":{"type":"integer"}}}`, `{"a":{"x":1}}`, `{"a":{"x":"1"}}`, "arg"},
	{`{"type":"object","properties":{"a":{"$ref":"#/definitions/p"}},"required":["a"],"definitions":{"p":{"type":"string"}}}`, `{"a":"x"}`, `{"a":{}}`, "arg"},
	{`{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name","children"]}`, `{"name":"a","children":[{"name":"b","children":[]}]}`, `{"name":"a","children":[{"name":1,"children":[]}]}`, "r"},
	{`{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"required":["t"],"$defs":{"t":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/t"}}]}}}`, `{"t":["a",["b"]]}`, `{"t":["a",[1]]}`, "r"},
	{`{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":2}]}},"required":["a"]}`, `{"a":"xy"}`, `{"a":"x"}`, ""},
	{`{"type":"object","patternProperties":{"^x-":{"type":"integer"}},"additionalProperties":false}`, `{"x-a":1}`, `{"a":1}`, ""},
	{`{"type":"object","additionalProperties":{"type":"integer"}}`, `{"a":1}`, `{"a":"1"}`, ""},
	{`{"type":"object","properties":{"k":{"type":"string"}},"required":["k"],"if":{"properties":{"k":{"const":"n"}}},"then":{"required":["n"]}}`, `{"k":"n","n":1}`, `{"k":"n"}`, ""},
	{`{"type":"object"}`, `{"a":{"b":[]}}`, `[]`, ""},
	{`{"type":"array","items":{"type":"integer"}}`, `[1,2]`, `["1"]`, "g"},
	{`{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}],"items":false}`, `["a",1]`, `["a",1,2]`, ""},
	{`{"type":"string","format":"date"}`, `"2026-11-28"`, `20261128`, "g"},
	{`{"type":"integer"}`, `42`, `"42"`, "g"},
	{`{"type":"boolean"}`, `true`, `"true"`, "g"},
	{`{"anyOf":[{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]},{"type":"object","properties":{"error":{"type":"string"}},"required":["error"]}]}`, `{"error":"no"}`, `{"oh":"no"}`, "g"},
	{`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"T","type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string","default":"x"}},"required":["c"]}}},"required":["b"]}},"required":["a"]}`, `{"a":{"b":[{"c":"x"}]}}`, `{"a":{"b":[{"d":"x"}]}}`, "arg"},
}

// lookTool is a tool that the answers come after.
func lookTool() tool.Tool {
	return tool.New(tool.Def{Name: "look", Description: "Looks.", Kind: tool.KindNone}, nil,
		func(context.Context, *tool.Env, struct{}, io.Writer) (tool.Result, error) {
			return tool.Result{Text: "seen"}, nil
		})
}

// TestAnySchemaOnAllWires plays models' answers to a schema on each wire: an answer either fits, or the turn
// fails and has none. Servers are sent only schemas that they take.
func TestAnySchemaOnAllWires(t *testing.T) {
	cut := map[string]string{"anthropic": "max_tokens", "chat": "length", "responses": "max_output_tokens", "gemini": "MAX_TOKENS", "ollama": "length", "converse": "max_tokens"}
	refused := map[string]string{"anthropic": "refusal", "chat": "content_filter", "responses": "content_filter", "gemini": "SAFETY", "converse": "guardrail_intervened"}
	models := map[string]string{"anthropic": "claude-sonnet-5-5", "chat": "m", "responses": "gpt-6.1-terra", "gemini": "gemini-3.8-flash", "ollama": "m", "converse": "eu.anthropic.claude-sonnet-5-5-v1:0"}
	type item = providertest.Item
	if len(thirtySchemas) != 30 {
		t.Fatalf("%d schemas", len(thirtySchemas))
	}
	for _, w := range allWires() {
		t.Run(w.name, func(t *testing.T) {
			var replies [][]item
			var bodies [][]byte
			h := &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
				bodies = append(bodies, r.Body)
				if len(replies) == 0 {
					return providertest.Fail(500, "script", "no more replies").With("X-Should-Retry", "false")
				}
				parts := replies[0]
				replies = replies[1:]
				return w.build(parts...)
			}}
			srv := httptest.NewServer(describing(&modelServer{Handler: h}, true, t.TempDir()))
			defer srv.Close()
			for _, i := range sweep.Cases(t, 2, len(thirtySchemas)) {
				s := thirtySchemas[i]
				say := func(text string) []item { return []item{providertest.Text(text)} }
				stopped := func(text, word string) []item { return append(say(text), providertest.Stop(word)) }
				half := s.good[:len(s.good)/2] + strings.Repeat(" ", 3)
				plays := []struct {
					name    string
					kind    agent.Kind
					replies [][]item
				}{
					{"fits", "", [][]item{{providertest.Text("I look."), providertest.Call("c1", "look", "{}")}, say(s.good)}},
					{"in a fence", "", [][]item{say("```json\n" + s.good + "\n```")}},
					{"fits at last", "", [][]item{say("Of course!"), say(s.good)}},
					{"corrected", "", [][]item{say(s.bad), say(s.good)}},
					{"wrong twice", agent.KindSchema, [][]item{say(s.bad), say(s.bad)}},
					{"words twice", agent.KindSchema, [][]item{say("Here: " + s.good), say("```\n" + s.good)}},
					{"always cut", agent.KindCap, [][]item{stopped(half, cut[w.name]), stopped(half, cut[w.name]), stopped(half, cut[w.name]), stopped(half, cut[w.name])}},
					{"empty", agent.KindProvider, [][]item{{}, {}}},
				}
				if word := refused[w.name]; word != "" {
					plays = append(plays, struct {
						name    string
						kind    agent.Kind
						replies [][]item
					}{"refused", agent.KindRefused, [][]item{stopped("", word)}})
				}
				for _, play := range plays {
					replies, bodies = play.replies, nil
					name := fmt.Sprintf("schema %d, %s", i+1, play.name)
					schema, err := agent.NewSchema([]byte(s.schema))
					if err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					a, err := agent.New(agent.Options{
						Model: agent.Model{Provider: &provider.Retrier{Provider: w.make(srv.URL, http.DefaultClient), MaxTime: -1}, Name: w.name,
							Defaults: provider.Options{Model: models[w.name], MaxTokens: 500}, Info: provider.ModelInfo{Context: 100_000, MaxOutput: 1000, Tools: true}},
						Tools: []tool.Tool{lookTool()}, System: "be brief", Env: &tool.Env{Dir: "/p"}, Policy: &permission.Policy{Mode: permission.ModeAsk, Root: "/p"},
						Sessions: agent.Sessions{Ephemeral: true}, Schema: schema,
					})
					if err != nil {
						t.Fatal(err)
					}
					r, err := a.SendMessage(t.Context(), "go", agent.NopCallbacks{})
					fitsOrFails(t, name, s, play.kind, r, err)
					for n, body := range bodies {
						if err := providertest.Validate(w.name, body); err != nil {
							t.Errorf("%s, request %d: %v\n%s", name, n+1, err, body)
						}
						if n == 0 {
							heldAsExpected(t, name, w.name, s, body)
						}
					}
					if err := a.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// fitsOrFails checks the outcome of a turn against the schema itself.
func fitsOrFails(t *testing.T, name string, s asked, want agent.Kind, r *agent.Response, err error) {
	t.Helper()
	kind := agent.Kind("")
	if f := agent.Classify(err); f != nil {
		kind = f.Kind
	}
	if kind != want || (r.JSON != nil) != (err == nil) {
		t.Errorf("%s: %q, %v (%s), want %q", name, r.JSON, err, kind, want)
	}
	if r.JSON == nil {
		return
	}
	var schema jsonschema.Schema
	var value any
	if err := json.Unmarshal([]byte(s.schema), &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err == nil {
		err = json.Unmarshal(r.JSON, &value)
	}
	if err == nil {
		err = resolved.Validate(value)
	}
	if err != nil {
		t.Errorf("%s: %s: %v", name, r.JSON, err)
	}
}

// heldAsExpected checks whether the first request has the schema in the server's own form, or asks for it in words.
func heldAsExpected(t *testing.T, name, wire string, s asked, body []byte) {
	t.Helper()
	form := map[string]string{"anthropic": `"format":{"type":"json_schema"`, "responses": `"text":{"format"`, "gemini": `"responseJsonSchema"`,
		"chat": `"response_format"`, "ollama": `"format"`, "converse": `"outputConfig":{"textFormat"`}[wire]
	if wire == "converse" {
		wire = "anthropic"
	}
	want := strings.Contains(s.held, wire[:1])
	if held := strings.Contains(string(body), form); held != want || strings.Contains(string(body), "fits this JSON Schema") == want {
		t.Errorf("%s: held by the server is %v, want %v\n%s", name, held, want, body)
	}
}
