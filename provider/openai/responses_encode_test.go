package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/internal/wire"
	"artoo/provider/providertest"
)

// responsesSession is session with the payloads that the Responses API gives to
// its own messages.
func responsesSession(model string) provider.Request {
	req := session("openai", model)
	own := &req.Messages[1]
	own.Parts = []provider.Part{
		provider.Reasoning{Text: "hm", Form: formItem,
			Opaque: `{"id":"rs_1", "type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAA+/==","novelty":1e1}`},
		provider.Text{Text: "I look.", Opaque: `{"id":"msg_1","phase":"commentary"}`},
		provider.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{"path": "a"}`), Opaque: `{"id":"fc_1"}`},
		provider.ToolCall{ID: "c2", Name: "read", Input: json.RawMessage(`{}`), Raw: "{", Opaque: `{"id":"fc_2"}`},
	}
	return req
}

func encoded(t *testing.T, req provider.Request) string {
	t.Helper()
	body, err := encodeResponses("openai", req, wire.Learned{})
	if err != nil {
		t.Fatal(err)
	}
	if err := providertest.Validate(providertest.WireResponses, body); err != nil {
		t.Errorf("%v\n%s", err, body)
	}
	return string(body)
}

func asked(model string, messages ...provider.Message) provider.Request {
	return provider.Request{Options: provider.Options{Model: model}, Messages: messages}
}

// said is a message of the model itself with the calls in it answered.
func said(parts ...provider.Part) []provider.Message {
	m := provider.Message{Role: provider.RoleAssistant, Provider: "openai", Model: "gpt-5.6-sol", Parts: parts}
	list := []provider.Message{provider.UserText("hi"), m}
	for _, c := range m.Calls() {
		list = append(list, provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Text: "x"}}})
	}
	if len(m.Calls()) == 0 {
		list = append(list, provider.UserText("and?"))
	}
	return list
}

func TestResponsesGoldenRequests(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]string{"responses": "gpt-5.6-sol", "responses-plain": "gpt-4.1"} {
		body := encoded(t, responsesSession(model))
		providertest.Golden(t, name, []byte(body), *update)
	}
}

// TestReasoningGoesBackAsItCame: down to the order of the keys and the way a
// number is written; only the blanks between them are the encoder's.
func TestReasoningGoesBackAsItCame(t *testing.T) {
	t.Parallel()
	body := encoded(t, responsesSession("gpt-5.6-sol"))
	const item = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAA+/==","novelty":1e1}`
	if !strings.Contains(body, item+
		`,{"type":"message","role":"assistant","id":"msg_1","status":"completed","phase":"commentary"`) {
		t.Errorf("not as it came, or not before what it led to: %s", body)
	}
	req := responsesSession("gpt-5.6-sol")
	req.Model = "gpt-5.6-luna"
	if body = encoded(t, req); strings.Contains(body, "rs_1") || strings.Contains(body, "msg_1") ||
		strings.Contains(body, "fc_1") || strings.Contains(body, "phase") {
		t.Errorf("payloads of one model went to another: %s", body)
	}
}

func TestResponsesFamilies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		model  string
		effort provider.Effort
		want   string // the reasoning field
		warm   bool   // takes the temperature
	}{
		{"gpt-5.6-terra", "", `{"summary":"auto"}`, false},
		{"gpt-5.6-terra", provider.EffortOff, `{"effort":"none"}`, true},
		{"gpt-5.6-terra", provider.EffortMax, `{"effort":"xhigh","summary":"auto"}`, false},
		{"openai/gpt-7-novelty", provider.EffortMax, `{"effort":"xhigh","summary":"auto"}`, false},
		{"gpt-5.3-codex", provider.EffortOff, `{"effort":"low","summary":"auto"}`, false},
		{"gpt-5.2-pro", provider.EffortLow, `{"effort":"medium","summary":"auto"}`, false},
		{"gpt-5.1", provider.EffortMax, `{"effort":"high","summary":"auto"}`, false},
		{"gpt-5.1-codex-max", provider.EffortMax, `{"effort":"xhigh","summary":"auto"}`, false},
		{"gpt-5-2025-08-07", provider.EffortOff, `{"effort":"minimal","summary":"auto"}`, false},
		{"gpt-5-pro", provider.EffortMedium, `{"effort":"high","summary":"auto"}`, false},
		{"o4-mini", provider.EffortOff, `{"effort":"low","summary":"auto"}`, false},
		{"o3", provider.EffortMax, `{"effort":"high","summary":"auto"}`, false},
		{"gpt-5.2-chat-latest", provider.EffortHigh, ``, true},
		{"gpt-4.1", provider.EffortHigh, ``, true},
		{"ft:gpt-4o-mini:org::x", provider.EffortHigh, ``, true},
		{"chatgpt-4o-latest", "", ``, true},
		{"a-name-nobody-knows", "", ``, true},
		{"a-name-nobody-knows", provider.EffortHigh, `{"effort":"high"}`, true},
	} {
		heat := 0.5
		req := asked(tc.model, provider.UserText("hi"))
		req.Effort, req.Temperature = tc.effort, &heat
		body, err := encodeResponses("openai", req, wire.Learned{})
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Reasoning   json.RawMessage
			Temperature *float64
			Include     []string
		}
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if string(got.Reasoning) != tc.want || (got.Temperature != nil) != tc.warm {
			t.Errorf("%s %q: reasoning %s, temperature %v; want %s, %v", tc.model, tc.effort, got.Reasoning,
				got.Temperature != nil, tc.want, tc.warm)
		}
		if f := familyOf(tc.model); (len(got.Include) == 1) != (f.reasons || !f.known) {
			t.Errorf("%s: include %q", tc.model, got.Include)
		}
	}
}

// TestBadSchemasAreRewritten: a schema that OpenAI refuses would fail every request of the session.
func TestBadSchemasAreRewritten(t *testing.T) {
	t.Parallel()
	const none = `{"properties":{},"type":"object"}`
	for in, want := range map[string]string{
		`{ "type":"object","required":["b"],"properties":{"b":{"type":"array","items":{"type":"string"}},"a":{"enum":[1.50]}}}`: "",
		`{"type":"object","properties":{"items":{"type":"string"},"type":{"type":"string"}}}`:                                   "",
		``: `{"type":"object","properties":{}}`, `{}`: none, `{"type":"object"}`: none, `[]`: none, `"x"`: none, `null`: none, `{`: none,
		`{"type":"object","properties":{"l":{"type":"array","description":"d"}}}`:                                                                      `{"properties":{"l":{"description":"d","items":{"type":"string"},"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"l":{"type":["array","null"]}}}`:                                                                               `{"properties":{"l":{"items":{"type":"string"},"type":"array"}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"array"}}]}},"$defs":{"d":{"type":"array"}}}`: `{"properties":{"a":{"anyOf":[{"type":"integer"},{"items":{"items":{"type":"string"},"type":"array"},"type":"array"}]}},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"oneOf":[{"properties":{"a":{"type":"null"},"b":{"type":"integer"}}}]}`:                 `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"type":"object"}`,
	} {
		if want == "" {
			want = in
		}
		if got := string(parameters(json.RawMessage(in))); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

// TestReasoningIsNeverAlone: the API refuses reasoning without the item it
// led to, and the item without its reasoning.
func TestReasoningIsNeverAlone(t *testing.T) {
	t.Parallel()
	thought := func(id, content string) provider.Reasoning {
		return provider.Reasoning{Form: formItem, Opaque: `{"type":"reasoning","id":"` +
			id + `","summary":[],"encrypted_content":` + content + `}`}
	}
	call := func(n string) provider.ToolCall {
		return provider.ToolCall{ID: "call_" + n, Name: "read", Input: json.RawMessage(`{}`),
			Opaque: `{"id":"fc_` + n + `"}`}
	}
	text := provider.Text{Text: "x", Opaque: `{"id":"msg_1","phase":"final_answer"}`}
	for _, tc := range []struct {
		name  string
		parts []provider.Part
		want  string // the ids of the items, in order
	}{
		{"in the order they came", []provider.Part{thought("rs_1", `"e"`), call("1"), thought("rs_2", `"e"`),
			thought("rs_3", `"e"`), call("2")}, "rs_1 fc_1 rs_2 rs_3 fc_2"},
		{"cut before anything came of it", []provider.Part{thought("rs_1", `"e"`), text, thought("rs_2", `"e"`)},
			"rs_1 msg_1"},
		{"before a blank text", []provider.Part{text, thought("rs_1", `"e"`),
			provider.Text{Text: " \n", Opaque: `{"id":"msg_2"}`}}, "msg_1"},
		{"not stored, not sent along", []provider.Part{thought("rs_1", `null`), text, call("1")}, ""},
		{"of a form that is not known", []provider.Part{provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "sig"},
			call("1")}, ""},
		{"an id that is none", []provider.Part{thought("capture-id-8", `"e"`), call("1")}, ""},
		{"no JSON", []provider.Part{provider.Reasoning{Form: formItem, Opaque: `{"type":`}, call("1")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			body := encoded(t, asked("gpt-5.6-sol", said(tc.parts...)...))
			var got struct {
				Input []struct{ ID, Phase string }
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, it := range got.Input {
				if it.ID != "" {
					ids = append(ids, it.ID)
				}
			}
			if strings.Join(ids, " ") != tc.want {
				t.Errorf("items %q, want %q\n%s", ids, tc.want, body)
			}
			if strings.Contains(body, `"output_text"`) && !strings.Contains(body, `"phase":"final_answer"`) {
				t.Errorf("the phase is lost: %s", body)
			}
		})
	}
}

// TestIDsAreKeptApart: a call has the id that joins it with its result,
// and as an item another one, of a fixed kind. Ids of other providers, and those
// that gateways make up, go through no door.
func TestIDsAreKeptApart(t *testing.T) {
	t.Parallel()
	long := "call_1|" + strings.Repeat("fc_x+/", 80)
	for _, tc := range []struct{ name, id, item, wantID, wantItem string }{
		{"own", "call_a", "fc_a", `"call_id":"call_a"`, `"id":"fc_a"`},
		{"the call's id as the item's", "call_a", "call_a", `"call_id":"call_a"`, ``},
		{"too long", "call_a", "fc_" + strings.Repeat("x", 62), `"call_id":"call_a"`, ``},
		{"none", "call_a", "", `"call_id":"call_a"`, ``},
	} {
		body := encoded(t, asked("gpt-5.6-sol",
			said(provider.ToolCall{ID: tc.id, Name: "read", Input: json.RawMessage(`{}`),
				Opaque: `{"id":"` + tc.item + `"}`})...))
		if strings.Count(body, tc.wantID) != 2 || !strings.Contains(body, tc.wantItem) ||
			tc.wantItem == "" && strings.Contains(body, `"id":`) {
			t.Errorf("%s: %s", tc.name, body)
		}
	}
	foreign := said(provider.ToolCall{ID: long, Name: "a.tool/of mine", Input: json.RawMessage(`{}`), Opaque: "sig"})
	foreign[1].Provider = "elsewhere"
	body := encoded(t, asked("gpt-5.6-sol", foreign...))
	if strings.Contains(body, "|") || strings.Contains(body, "+/") || strings.Contains(body, "sig") {
		t.Errorf("a foreign id or payload went through: %s", body)
	}
}

// TestBadArgumentsGoBackAsAnObject: a call whose arguments were no JSON is
// in the history permanently.
func TestBadArgumentsGoBackAsAnObject(t *testing.T) {
	t.Parallel()
	body := encoded(t, asked("gpt-5.6-sol",
		said(provider.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{}`), Raw: `{"path":`})...))
	if !strings.Contains(body, `"arguments":"{}"`) {
		t.Error(body)
	}
}

func TestResponsesOmitsWhatIsRefused(t *testing.T) {
	t.Parallel()
	heat := 0.0
	req := asked("gpt-5.6-sol", provider.UserText("hi"))
	req.Temperature, req.Effort, req.MaxTokens, req.SessionID, req.System = &heat, provider.EffortHigh,
		3, strings.Repeat("x", 65), " \n"
	body, err := encodeResponses("openai", req,
		wire.Learned{Omitted: wire.Effort | wire.Summary | wire.EncryptedReasoning | wire.Temperature})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"gpt-5.6-sol","stream":true,"store":false,"max_output_tokens":16,"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}`
	if string(body) != want {
		t.Errorf("%s\nwant %s", body, want)
	}
	if bytes.Contains(body, []byte("instructions")) {
		t.Error("blank instructions")
	}
}
