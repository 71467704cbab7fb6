package openai_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

// askChat sends the request twice to a server that refuses it once. It returns the notices to the user; each of the
// three bodies must be one that servers take.
func askChat(t *testing.T, name, message string, req provider.Request) (told []string, bodies []string) {
	t.Helper()
	ok := providertest.Chat(providertest.Text("ok"))
	s := providertest.NewServer(t, providertest.Fail(http.StatusBadRequest, "invalid_request_error", message), ok, ok)
	p := &openai.Chat{Server: provider.Server{Name: name, BaseURL: s.URL + "/v1", HTTP: s.HTTP},
		Quirks: openai.QuirksFor(name)}
	for range 2 {
		r := providertest.Collect(p.Stream(t.Context(), req))
		if err := r.Check(); err != nil || r.Err != nil {
			t.Fatalf("%s: %v %v", message, err, r.Err)
		}
		for _, ev := range r.Events {
			if n, ok := ev.(provider.Notice); ok {
				told = append(told, n.Text)
			}
		}
	}
	for i, seen := range s.Requests() {
		if err := providertest.Validate(providertest.WireChat, seen.Body); err != nil {
			t.Errorf("request %d: %v", i, err)
		}
		bodies = append(bodies, string(seen.Body))
	}
	if len(bodies) != 3 {
		t.Fatalf("%d requests, want 3: what is known needs no second refusal", len(bodies))
	}
	return told, bodies
}

// thought is a history whose one step was thought about.
func thought(name string) []provider.Message {
	return []provider.Message{
		provider.UserText("hi"),
		{Role: provider.RoleAssistant, Provider: name, Model: "m", Parts: []provider.Part{
			provider.Reasoning{Text: "hm hm", Form: "reasoning_content"},
			provider.ToolCall{ID: "c1", Name: "read", Input: []byte(`{}`)}}},
		{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: "c1", Name: "read", Text: "x"}}},
	}
}

// TestChatLeavesOutWhatIsRefused: no two servers take the same. The lesson of the first refusal holds from then on,
// with one notice if something is lost.
func TestChatLeavesOutWhatIsRefused(t *testing.T) {
	t.Parallel()
	heat := 0.5
	for _, tc := range []struct {
		name, message string
		before, after string
		without       string
		told          int
	}{
		{"compatible",
			"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", `"max_tokens":64000`, `"max_completion_tokens":64000`, `"max_tokens"`, 0},
		{"openai", "Unrecognized request argument supplied: max_completion_tokens", `"max_completion_tokens":64000`,
			`"max_tokens":64000`, "max_completion_tokens", 0},
		{"compatible",
			"max_tokens is too large: 64000. This model supports at most 16384 completion tokens, whereas you provided 64000.", `"max_tokens":64000`, `"max_tokens":16384`, "64000", 1},
		{"deepseek", "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", `"max_tokens":64000`,
			`"max_tokens":8192`, "64000", 1},
		{"compatible",
			"`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window`", `"max_tokens":64000`, `"max_tokens":8192`, "64000", 1},
		{"compatible",
			"This model's maximum context length is 65536 tokens. However, you requested 73000 tokens (9000 in the messages, 64000 in the completion). Please reduce the length of the messages or completion.",
			`"max_tokens":64000`, `"max_tokens":49469`, "64000", 1},
		{"openrouter",
			"This endpoint's maximum context length is 65536 tokens. However, you requested about 73000 tokens (8000 of text input, 1000 of tool input, 64000 in the output).",
			`"max_tokens":64000`, `"max_tokens":50344`, "64000", 1},
		{"compatible",
			"'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context length is 65536 tokens and your request has 9000 input tokens (64000 > 65536 - 9000).",
			`"max_tokens":64000`, `"max_tokens":49469`, "64000", 1},
		{"compatible",
			"This model's maximum context length is 65536 tokens. However, you requested 64000 output tokens and your prompt contains at least 1537 input tokens, for a total of at least 65537 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=1537)",
			`"max_tokens":64000`, `"max_tokens":28000`, "64000", 1},
		{"openrouter",
			"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65536. Given: 9000 `inputs` tokens and 64000 `max_new_tokens`",
			`"max_tokens":64000`, `"max_tokens":49469`, "64000", 1},
		{"openai",
			"Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.", `"temperature":0.5`, `"model"`, "temperature", 1},
		{"compatible", "Unrecognized request argument supplied: reasoning_effort", `"reasoning_effort"`, `"model"`,
			"reasoning_effort", 1},
		{"openrouter", "Reasoning is not supported by this endpoint", `"reasoning":{`, `"model"`, `"reasoning":{`, 1},
		{"compatible", "Unknown field: stream_options", `"stream_options"`, `"stream":true`, "stream_options", 0},
		{"openai", "Unknown parameter: 'parallel_tool_calls'.", `"parallel_tool_calls"`, `"tools"`,
			"parallel_tool_calls", 0},
		{"openai", "Unrecognized request argument supplied: prompt_cache_key", `"prompt_cache_key"`, `"tools"`,
			"prompt_cache_key", 0},
		{"openai", "Error rendering prompt with jinja template: \"Unexpected message role.\"", `"role":"developer"`,
			`"role":"system"`, "developer", 0},
		{"openai", "messages[0].role: 'developer' is not one of ['system', 'assistant', 'user']", `"role":"developer"`,
			`"role":"system"`, "developer", 0},
	} {
		t.Run(tc.name+" "+tc.message, func(t *testing.T) {
			req := provider.Request{Options: provider.Options{Model: "m", MaxTokens: 64_000,
				Effort: provider.EffortHigh, Temperature: &heat}, System: "You are a test.",
				Tools:    []provider.ToolSpec{{Name: "read", Schema: []byte(`{"type":"object","properties":{}}`)}},
				Messages: []provider.Message{provider.UserText("hi")}, SessionID: "s"}
			told, bodies := askChat(t, tc.name, tc.message, req)
			if len(told) != tc.told {
				t.Errorf("told %q, want %d lines", told, tc.told)
			}
			for i, body := range bodies {
				if i == 0 && !strings.Contains(body, tc.before) ||
					i > 0 && (!strings.Contains(body, tc.after) || strings.Contains(body, tc.without)) {
					t.Errorf("request %d: %s", i, body)
				}
			}
		})
	}
	for _, message := range []string{"temperature: no", "reasoning: no", "max_tokens: no such thing",
		"the field developer", "stream_options"} {
		s := providertest.NewServer(t, providertest.Fail(400, "invalid_request_error", message))
		p := &openai.Chat{Server: provider.Server{Name: "x", BaseURL: s.URL, HTTP: s.HTTP}}
		r := providertest.Collect(p.Stream(t.Context(),
			provider.Request{Options: provider.Options{Model: "m"}, Messages: []provider.Message{provider.UserText("hi")}}))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindInvalid || len(s.Requests()) != 1 {
			t.Errorf("%s was not sent: %v after %d requests, want one refusal", message, r.Err, len(s.Requests()))
		}
	}
}

// TestReasoningAsEachServerWantsIt: DeepSeek wants it with every call, also where there was none; others refuse a field
// that they do not know. A server behind another name shows its kind by its refusals.
func TestReasoningAsEachServerWantsIt(t *testing.T) {
	t.Parallel()
	ok := providertest.Chat(providertest.Text("ok"))
	for _, tc := range []struct {
		name    string
		history []provider.Message
		want    string // "" for no field
	}{
		{"deepseek", thought("deepseek"), `"reasoning_content":"hm hm"`},
		{"deepseek", thought("elsewhere"), `"reasoning_content":""`},
		{"compatible", thought("compatible"), `"reasoning_content":"hm hm"`},
		{"compatible", thought("elsewhere"), ""},
		{"openai", thought("openai"), ""},
	} {
		s := providertest.NewServer(t, ok)
		p := &openai.Chat{Server: provider.Server{Name: tc.name, BaseURL: s.URL, HTTP: s.HTTP},
			Quirks: openai.QuirksFor(tc.name)}
		providertest.Collect(p.Stream(t.Context(),
			provider.Request{Options: provider.Options{Model: "m"}, Messages: tc.history}))
		body := string(s.Requests()[0].Body)
		if tc.want == "" && strings.Contains(body, "reasoning") || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %s, want %q", tc.name, body, tc.want)
		}
	}
	req := provider.Request{Options: provider.Options{Model: "m"}, Messages: thought("compatible")}
	_, bodies := askChat(t, "compatible", "messages.1: property 'reasoning_content' is unsupported", req)
	if !strings.Contains(bodies[0], "reasoning_content") || strings.Contains(bodies[1]+bodies[2], "reasoning") {
		t.Errorf("a field that is not taken: %q", bodies)
	}
	req.Messages = thought("elsewhere")
	_, bodies = askChat(t, "compatible", "The reasoning_content in the thinking mode must be passed back to the API.", req)
	if strings.Contains(bodies[0], "reasoning_content") || !strings.Contains(bodies[1], `"reasoning_content":""`) ||
		!strings.Contains(bodies[2], `"reasoning_content":""`) {
		t.Errorf("a field that is missed: %q", bodies)
	}
}

// TestThoughtsThatARouterNoLongerTakes are left out, all of them, with one notice; the effort is not at fault.
func TestThoughtsThatARouterNoLongerTakes(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"Provider returned error: messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.",
		"Provider returned error: messages.1.content.0: Invalid `signature` in `thinking` block",
	} {
		req := provider.Request{Options: provider.Options{Model: "m", Effort: provider.EffortHigh},
			Messages: thought("openrouter")}
		req.Messages[1].Parts[0] = provider.Reasoning{Text: "hm hm", Form: "reasoning",
			Opaque: `[{"type":"reasoning.text","text":"hm hm","signature":"sig"}]`}
		told, bodies := askChat(t, "openrouter", message, req)
		if len(told) != 1 || !strings.Contains(told[0], "reasoning") {
			t.Errorf("told %q", told)
		}
		for i, body := range bodies {
			if got := strings.Contains(body, "reasoning_details") || strings.Contains(body, "hm hm"); got != (i == 0) ||
				!strings.Contains(body, `"reasoning":{"effort":"high"`) {
				t.Errorf("request %d: %s", i, body)
			}
		}
	}
}

// TestTheWordForTheEnd: calls that are whole need none, and one that
// speaks of calls makes none.
func TestTheWordForTheEnd(t *testing.T) {
	t.Parallel()
	const counted = `!{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":5}}`
	whole := calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`)
	half := calls(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":"}}`)
	for _, end := range [][]string{{whole, done}, {whole, counted}, {whole, counted, done}} {
		if r := ask(t, "compatible", stream(end...)); r.Err != nil || r.Done.Stop != provider.StopToolUse ||
			len(r.Done.Message.Calls()) != 1 {
			t.Errorf("%q: %+v %v", end, r.Done, r.Err)
		}
	}
	if r := ask(t, "compatible", stream(`{"content":"x"}`, counted, done)); r.Err != nil || r.Text != "x" ||
		r.Done.Stop != provider.StopComplete || r.Done.Usage.Output != 5 {
		t.Errorf("a text that is counted and done: %+v %v", r.Done, r.Err)
	}
	for name, end := range map[string][]string{
		"half a call": {half, done}, "perhaps before another call": {whole},
		"counts along the way":  {whole, `!{"choices":[{"index":0,"delta":{"content":"x"}}],"usage":{"completion_tokens":5}}`},
		"a text, and no [DONE]": {`{"content":"x"}`, counted}, "nothing": {counted, done},
	} {
		if e := provider.AsError(ask(t, "compatible", stream(end...)).Err); e == nil || !e.Temporary() {
			t.Errorf("%s: %v, want another try", name, e)
		}
	}
	r := ask(t, "openrouter", stream(`{"content":"I searched."}`,
		`!{"choices":[{"index":0,"delta":{"tool_calls":null},"finish_reason":"tool_calls"}]}`, done))
	if r.Err != nil || r.Done.Stop != provider.StopComplete || r.Text != "I searched." {
		t.Errorf("no calls: %+v %v", r.Done, r.Err)
	}
}

// TestALengthBesideAnError is a cut reply: a router reports the limit in both ways.
func TestALengthBesideAnError(t *testing.T) {
	t.Parallel()
	const failure = `"error":{"code":502,"message":"Provider returned error: max_tokens reached"}`
	for name, end := range map[string][]string{
		"in one chunk":  {`!{"choices":[{"index":0,"delta":{},"finish_reason":"length"}],` + failure + `}`},
		"in the choice": {`!{"choices":[{"index":0,"delta":{},"finish_reason":"length",` + failure + `}]}`},
		"one after the other": {`!{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`,
			`!{"choices":[],` + failure + `}`, done},
	} {
		r := ask(t, "openrouter", stream(append([]string{`{"content":"half"}`}, end...)...))
		if r.Err != nil || r.Done.Stop != provider.StopMaxTokens || r.Text != "half" {
			t.Errorf("%s: %+v %v", name, r.Done, r.Err)
		}
	}
	if r := ask(t, "openrouter", stream(`{"content":"half"}`,
		`!{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],`+failure+`}`)); r.Err == nil {
		t.Error("an error is taken for a cut reply")
	}
}

// TestBlanksBeforeAReply that comes as one document: DeepSeek keeps the
// connection alive with them.
func TestBlanksBeforeAReply(t *testing.T) {
	t.Parallel()
	reply := providertest.JSON(200, "\n\n \r\n\n"+
		`{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop"}]}`)
	for _, reply := range []providertest.Reply{reply, reply.InChunks(1)} {
		if r := ask(t, "deepseek", reply); r.Err != nil || r.Text != "x" {
			t.Errorf("%q %v", r.Text, r.Err)
		}
	}
}

// TestWhatIsCutBehindTheEnd is not missed: the answer was complete.
func TestWhatIsCutBehindTheEnd(t *testing.T) {
	t.Parallel()
	for _, rest := range []string{"data: {\"choices\":[],\"usa", "data: {\"choices\":[],\"usa\n\n", "data: [DO", "da"} {
		reply := stream(`{"content":"x"}`, stop)
		reply.Body = append(reply.Body, rest...)
		if r := ask(t, "compatible", reply); r.Err != nil || r.Text != "x" {
			t.Errorf("%q: %v", rest, r.Err)
		}
	}
	reply := stream(`{"content":"x"}`)
	reply.Body = append(reply.Body, "data: {\"choices\":[\n\ndata: {\"choices\":[]}"...)
	if e := provider.AsError(ask(t, "compatible", reply).Err); e == nil || e.Kind != provider.KindProvider ||
		!strings.Contains(e.Message, "cannot read") {
		t.Errorf("an event that is cut, and more: %v", e)
	}
}

// TestErrorsOfARouter: an error in the stream or in a document of
// status 200 is one, whatever stands beside it; null is none.
func TestErrorsOfARouter(t *testing.T) {
	t.Parallel()
	upstream := `"error":{"code":502,"message":"upstream"}`
	for name, reply := range map[string]providertest.Reply{
		"without choices": stream(`{"content":"x"}`, `!{"choices":[],`+upstream+`}`),
		"with usage":      stream(`!{"choices":[],"usage":{"prompt_tokens":1},`+upstream+`}`, done),
		"as the end":      stream(`{"content":"x"}`, `!{"choices":[{"index":0,"delta":{},"finish_reason":"error"}]}`, done),
		"in the choice": stream(`!{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error",`+
			upstream+`}]}`, done),
		"a document": providertest.JSON(200, `{`+upstream+`,"user_id":"u"}`),
	} {
		if e := provider.AsError(ask(t, "openrouter", reply).Err); e == nil || e.Kind != provider.KindProvider ||
			!e.Temporary() {
			t.Errorf("%s: %v, want a temporary failure of the provider", name, e)
		}
	}
	if r := ask(t, "openrouter", stream(`!{"error":null,"choices":[{"index":0,"delta":{"content":"x"},"error":null}]}`,
		stop)); r.Err != nil || r.Text != "x" {
		t.Errorf("null: %v", r.Err)
	}
}

// TestChatTellsCallsApart: one index for all, no ids, one id for
// all, no end of each: two calls are two, with ids of their own.
func TestChatTellsCallsApart(t *testing.T) {
	t.Parallel()
	for name, fragments := range map[string][]string{
		"one index": {`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"index":0,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`},
		"no ids, no type": {`{"index":0,"function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"index":1,"id":"","function":{"name":"read","arguments":"{\"n\":2}"}}`},
		"one id for all": {`{"index":0,"id":"read","function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"index":1,"id":"read","function":{"name":"read","arguments":"{\"n\":2}"}}`},
		"neither of both": {`{"function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"function":{"name":"read","arguments":"{\"n\":2}"}}`},
		"two objects under one index": {`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"index":0,"function":{"arguments":"{\"n\":2}"}}`},
		"two objects in one piece": {`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}\n{\"n\":2}"}}`},
		"pieces by turns": {`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\""}}`,
			`{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`,
			`{"index":0,"function":{"arguments":":1}"}}`},
		"a valid beginning": {`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"n\":1}"}}`,
			`{"index":0,"function":{"arguments":" "}}`,
			`{"index":1,"id":"b","function":{"name":"read","arguments":"{\"n\":2}"}}`},
	} {
		var deltas []string
		for _, f := range fragments {
			deltas = append(deltas, calls(f))
		}
		r := ask(t, "compatible", stream(append(deltas, stop, done)...))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		got := r.Done.Message.Calls()
		if len(got) != 2 || string(got[0].Input) != `{"n":1}` || string(got[1].Input) != `{"n":2}` ||
			got[0].ID == got[1].ID || got[0].ID == "" || got[1].ID == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUsageInAChunkOfItsOwn, without choices, also after [DONE]'s place.
func TestUsageInAChunkOfItsOwn(t *testing.T) {
	t.Parallel()
	for _, chunk := range []string{
		`!{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
		`!{"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
		`!{"choices":null,"usage":{"prompt_tokens":7,"completion_tokens":2}}`,
	} {
		for _, deltas := range [][]string{{`{"content":"x"}`, stop, chunk, done}, {chunk, `{"content":"x"}`, stop}} {
			if r := ask(t, "openai", stream(deltas...)); r.Err != nil || r.Done.Usage.Input != 7 ||
				r.Done.Usage.Output != 2 {
				t.Errorf("%q: %+v %v", deltas, r.Done, r.Err)
			}
		}
	}
}

// TestASchemaThatIsNotUnderstood: servers that make a grammar of it know few words. The rest still describes the tool's
// input.
func TestASchemaThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	schema := `{"$schema":"x","type":"object","properties":{"edits":{"type":"array","description":"What.","items":{"type":"object","properties":{"old":{"type":["string","null"],"not":{}}},"required":["old"],"additionalProperties":false}},"n":{"type":"integer","enum":[1,2]}},"required":["edits"],"not":{"required":["x"]}}`
	const want = `{"properties":{"edits":{"description":"What.","items":{"properties":{"old":{"type":"string"}},"required":["old"],"type":"object"},"type":"array"},"n":{"enum":[1,2],"type":"integer"}},"required":["edits"],"type":"object"}`
	for status, message := range map[int]string{400: "failed to parse grammar",
		500: "JSON schema conversion failed:\nUnrecognized schema: {}"} {
		ok := providertest.Chat(providertest.Text("ok"))
		s := providertest.NewServer(t, providertest.Fail(status, "server_error", message), ok, ok)
		p := &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: s.URL, HTTP: s.HTTP},
			Quirks: openai.QuirksFor("compatible")}
		req := provider.Request{Options: provider.Options{Model: "m"},
			Messages: []provider.Message{provider.UserText("hi")},
			Tools:    []provider.ToolSpec{{Name: "edit", Schema: []byte(schema)}}}
		for range 2 {
			if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
				t.Fatalf("%s: %v", message, r.Err)
			}
		}
		for i, seen := range s.Requests() {
			if got := strings.Contains(string(seen.Body), `"parameters":`+want); got != (i > 0) {
				t.Errorf("%s: request %d: %s", message, i, seen.Body)
			}
		}
		if n := len(s.Requests()); n != 3 {
			t.Errorf("%s: %d requests, want 3", message, n)
		}
	}
	s := providertest.NewServer(t, providertest.Fail(500, "server_error", "out of memory"))
	p := &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: s.URL, HTTP: s.HTTP}}
	r := providertest.Collect(p.Stream(t.Context(),
		provider.Request{Messages: []provider.Message{provider.UserText("hi")}}))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindProvider || len(s.Requests()) != 1 {
		t.Errorf("a failure of another kind: %v after %d requests", r.Err, len(s.Requests()))
	}
}

// TestMistralsOrderAndIDs: its servers, self-hosted or not, take a user's message
// behind a result only with a word of the model's between, and ids of nine letters
// and digits. A history that came from elsewhere, or broke off, goes on all the same.
func TestMistralsOrderAndIDs(t *testing.T) {
	t.Parallel()
	req := provider.Request{Options: provider.Options{Model: "m"},
		Messages: append(thought("elsewhere"), provider.UserText("stop that"))}
	_, bodies := askChat(t, "compatible", "Unexpected role 'user' after role 'tool'", req)
	const between = `"content":"x"},{"role":"assistant","content":"OK."},{"role":"user"`
	if strings.Contains(bodies[0], between) || !strings.Contains(bodies[1], between) ||
		!strings.Contains(bodies[2], between) {
		t.Errorf("the order: %q", bodies)
	}
	calls := provider.Message{Role: provider.RoleAssistant, Provider: "elsewhere", Model: "m"}
	results := []provider.Message{calls}
	for _, id := range []string{"call_PTLP8xhu3uwZ", "other-PTLP8xhu3uwZ", "dnEN4JsJy", "c", ""} {
		results[0].Parts = append(results[0].Parts, provider.ToolCall{ID: id, Name: "read", Input: []byte(`{}`)})
		results = append(results, provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: id, Name: "read", Text: "of " + id}}})
	}
	req.Messages = append([]provider.Message{provider.UserText("hi")}, results...)
	_, bodies = askChat(t, "compatible",
		"Tool call id was call_PTLP8xhu3uwZ but must be a-z, A-Z, 0-9, with a length of 9.", req)
	for _, body := range bodies[1:] {
		var sent struct {
			Messages []struct {
				CallID string `json:"tool_call_id"`
				Calls  []struct {
					ID string `json:"id"`
				} `json:"tool_calls"`
			} `json:"messages"`
		}
		if err := json.Unmarshal([]byte(body), &sent); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for i, c := range sent.Messages[1].Calls {
			if !nine.MatchString(c.ID) || seen[c.ID] || sent.Messages[i+2].CallID != c.ID {
				t.Errorf("call %d has the id %q, its result %q", i, c.ID, sent.Messages[i+2].CallID)
			}
			seen[c.ID] = true
		}
		if !seen["dnEN4JsJy"] || len(seen) != 5 {
			t.Errorf("ids %v", seen)
		}
	}
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

// TestACallThatTheServerCannotReadIsToldTheModel: Groq gives the reply up, and the
// same request would most likely get the same call.
func TestACallThatTheServerCannotReadIsToldTheModel(t *testing.T) {
	t.Parallel()
	const failed = `{"error":{"message":"Failed to call a function.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=read{\"path\": \"a\"}</function>"}}`
	for name, reply := range map[string]providertest.Reply{
		"at once":      providertest.JSON(400, failed),
		"in the reply": stream(`{"content":"I look."}`, "!"+failed),
	} {
		s := providertest.NewServer(t, reply, stream(`{"content":"ok"}`, stop, done))
		p := &openai.Chat{Server: provider.Server{Name: "groq", BaseURL: s.URL + "/v1", HTTP: s.HTTP},
			Quirks: openai.QuirksFor("compatible")}
		req := provider.Request{Options: provider.Options{Model: "m"},
			Messages: []provider.Message{provider.UserText("hi")},
			Tools: []provider.ToolSpec{{Name: "bash",
				Schema: json.RawMessage(`{"type":"object","properties":{"command":{}}}`)},
				{Name: "read", Schema: json.RawMessage(`{"type":"object","properties":{"path":{}}}`)}}}
		r := providertest.Collect(p.Stream(t.Context(), req))
		if r.Err != nil || r.Done.Stop != provider.StopToolUse {
			t.Fatalf("%s: %+v %v", name, r.Done, r.Err)
		}
		calls := r.Done.Message.Calls()
		if len(calls) != 1 || calls[0].Name != "read" || !strings.Contains(calls[0].Raw, "<function=read") ||
			string(calls[0].Input) != "{}" || calls[0].ID == "" || r.Done.Message.Text() != r.Text {
			t.Errorf("%s: %+v", name, r.Done.Message)
		}
		req.Messages = append(req.Messages, r.Done.Message, provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: calls[0].ID, Text: "broken input", IsError: true}}})
		if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil || r.Text != "ok" {
			t.Errorf("%s: the next: %v", name, r.Err)
		}
	}
}
