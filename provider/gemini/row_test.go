package gemini_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

// TestABareErrorInTheStream: a line without "data:", also printed over
// several lines.
func TestABareErrorInTheStream(t *testing.T) {
	t.Parallel()
	const begun = `data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}` + "\n\n"
	for name, bare := range map[string]string{
		"one line":      `{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}`,
		"several lines": "{\n  \"error\": {\n    \"code\": 503,\n    \"message\": \"busy\",\n    \"status\": \"UNAVAILABLE\"\n  }\n}\n",
		"in an array":   `[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]`,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "in an array" {
				bare = "data: " + bare + "\n\n"
			}
			r := ask(t, providertest.Stream(begun+bare))
			if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindOverloaded || e.Message != "busy" ||
				r.Text != "Hel" {
				t.Errorf("%+v after %q", e, r.Text)
			}
		})
	}
}

// TestParallelCallsInSeparateEvents: no index, the same name, some with an
// id: each is a call of its own, in the order they came.
func TestParallelCallsInSeparateEvents(t *testing.T) {
	t.Parallel()
	r := ask(t, parts(`{"functionCall":{"name":"read","args":{"n":1}},"thoughtSignature":"s"}`,
		`{"functionCall":{"name":"read","args":{"n":2}}}`,
		`{"functionCall":{"id":"x","name":"read","args":{"n":3}}}`,
		`{"functionCall":{"id":"x","name":"read","args":{"n":4}}}`, `{"text":""}`))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	var got []string
	for _, c := range r.Done.Message.Calls() {
		got = append(got, c.ID+string(c.Input))
	}
	want := []string{`call_1{"n":1}`, `call_2{"n":2}`, `x{"n":3}`, `call_3{"n":4}`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestIDsAreUniqueInASession: an id made up from a name would come twice.
func TestIDsAreUniqueInASession(t *testing.T) {
	t.Parallel()
	call := parts(`{"functionCall":{"name":"read","args":{}}}`)
	s := providertest.NewServer(t, call, call, call)
	req := request(provider.UserText("hi"))
	seen := map[string]bool{}
	for range 3 {
		r := send(t, s, req)
		c := r.Done.Message.Calls()[0]
		if seen[c.ID] {
			t.Errorf("the id %q came before", c.ID)
		}
		seen[c.ID] = true
		req.Messages = append(req.Messages, r.Done.Message, answer(c))
	}
	for _, seen := range s.Requests() {
		if err := providertest.Validate(providertest.WireGemini, seen.Body); err != nil {
			t.Error(err)
		}
	}
}

func answer(c provider.ToolCall) provider.Message {
	return provider.Message{Role: provider.RoleTool,
		Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Name: c.Name, Text: "x"}}}
}

// TestStopBesideCalls: the calls decide, whatever the word for the end.
func TestStopBesideCalls(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"STOP", "FUNCTION_CALL"} {
		r := ask(t,
			providertest.Stream(
				`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{}}}]},"finishReason":"`+word+`"}]}`+"\n\n"))
		if r.Err != nil || r.Done.Stop != provider.StopToolUse {
			t.Errorf("%s: %+v %v", word, r.Done, r.Err)
		}
	}
}

// refusing answers 400 with the fault that refuse finds in a body, else "ok".
func refusing(t *testing.T, refuse func(body string) string) *providertest.Server {
	return providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
		if message := refuse(string(r.Body)); message != "" {
			quoted, err := json.Marshal(message)
			if err != nil {
				panic(err) // a string always marshals
			}
			return providertest.JSON(400, `{"error":{"code":400,"message":`+string(quoted)+`,"status":"INVALID_ARGUMENT"}}`)
		}
		return parts(`{"text":"ok"}`)
	}})
}

func notices(r providertest.Result) (texts []string) {
	for _, ev := range r.Events {
		if n, ok := ev.(provider.Notice); ok {
			texts = append(texts, n.Text)
		}
	}
	return texts
}

func tools(n int) (specs []provider.ToolSpec) {
	for i := range n {
		specs = append(specs, provider.ToolSpec{Name: fmt.Sprintf("tool%d", i),
			Schema: json.RawMessage(`{"type":"object","properties":{"a":{"const":"x"}},"$comment":"` +
				fmt.Sprint(i) + `"}`)})
	}
	return specs
}

// TestOneBadToolDoesNotBreakATurn: its schema is rewritten, then the tool
// is left out, and the user is notified; the next request knows.
func TestOneBadToolDoesNotBreakATurn(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, `"tool1"`) {
			return "* GenerateContentRequest.tools[0].function_declarations[1].parameters_json_schema: schema is not valid"
		}
		return ""
	})
	p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	req := request(provider.UserText("hi"))
	req.Tools = tools(3)
	r := providertest.Collect(p.Stream(t.Context(), req))
	if r.Err != nil || r.Text != "ok" {
		t.Fatal(r.Err)
	}
	if diff := cmp.Diff([]string{"gemini-3-flash refuses the schema of tool1: left out, the model cannot call it"},
		notices(r)); diff != "" {
		t.Errorf("notices (-want +got)\n%s", diff)
	}
	if again := providertest.Collect(p.Stream(t.Context(), req)); again.Err != nil || len(notices(again)) != 0 {
		t.Errorf("the next request: %v %q", again.Err, notices(again))
	}
	seen := s.Requests()
	if len(seen) != 4 {
		t.Fatalf("%d requests, want three for the first and one for the second", len(seen))
	}
	for i, want := range []string{`"name":"tool1","parametersJsonSchema"`, `"name":"tool1","parameters":`,
		`[{"name":"tool0"`, `[{"name":"tool0"`} {
		if !bytes.Contains(seen[i].Body, []byte(want)) {
			t.Errorf("request %d lacks %s: %s", i, want, seen[i].Body)
		}
		if err := providertest.Validate(providertest.WireGemini, seen[i].Body); err != nil {
			t.Error(err)
		}
	}
}

// TestAServerThatKnowsOnlyTheSubset takes every tool in that form.
func TestAServerThatKnowsOnlyTheSubset(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, "parametersJsonSchema") {
			return `Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0].function_declarations[0]': Cannot find field.`
		}
		return ""
	})
	req := request(provider.UserText("hi"))
	req.Tools = tools(30)
	r := send(t, s, req)
	if r.Err != nil || len(s.Requests()) != 2 || len(notices(r)) != 0 {
		t.Fatalf("%v after %d requests", r.Err, len(s.Requests()))
	}
	if body := s.Requests()[1].Body; bytes.Contains(body, []byte(`const`)) ||
		bytes.Contains(body, []byte(`$comment`)) || bytes.Count(body, []byte(`"name"`)) != 30 {
		t.Errorf("%s", body)
	}
}

// TestWhatCannotBeMendedIsSaid: a 400 that nothing changes comes back, after
// a bounded number of tries.
func TestWhatCannotBeMendedIsSaid(t *testing.T) {
	t.Parallel()
	for _, message := range []string{"contents[0]: no", "tools[0].function_declarations[77]: no",
		"thinking is what I do not like", "Invalid thought signature"} {
		s := refusing(t, func(string) string { return message })
		req := request(provider.UserText("hi"))
		req.Tools = tools(2)
		r := send(t, s, req)
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindInvalid || e.Message != message {
			t.Errorf("%q: %+v", message, e)
		}
		if n := len(s.Requests()); n > 2 {
			t.Errorf("%q: %d requests", message, n)
		}
	}
}

// TestAServerWithoutCallIDs, such as Vertex, gets none.
func TestAServerWithoutCallIDs(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, `"id":"c1"`) {
			return `Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`
		}
		return ""
	})
	call := provider.ToolCall{ID: "c1", Name: "read", Input: json.RawMessage(`{}`)}
	r := send(t, s, request(provider.UserText("hi"),
		provider.Message{Role: provider.RoleAssistant, Provider: "g", Parts: []provider.Part{call}}, answer(call)))
	if r.Err != nil || len(s.Requests()) != 2 {
		t.Fatalf("%v after %d requests", r.Err, len(s.Requests()))
	}
	if err := providertest.Validate(providertest.WireGemini, s.Requests()[1].Body); err != nil {
		t.Error(err)
	}
}

// TestALostSignature: the first call of each step that came from elsewhere
// carries the words that stand for one; the models before 3 know none of it.
func TestALostSignature(t *testing.T) {
	t.Parallel()
	step := func(from string, ids ...string) (m []provider.Message) {
		reply := provider.Message{Role: provider.RoleAssistant, Provider: from, Model: "gemini-3-flash"}
		for i, id := range ids {
			c := provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`)}
			if i == 0 {
				c.Opaque = "sig-" + id
			}
			reply.Parts = append(reply.Parts, c)
			m = append(m, answer(c))
		}
		return append([]provider.Message{reply}, m...)
	}
	history := append([]provider.Message{provider.UserText("hi")}, step("g", "a1", "a2")...)
	history = append(history, step("other", "b1", "b2")...)
	for model, want := range map[string][]string{
		"gemini-3-flash":   {"sig-a1", "", "skip_thought_signature_validator", ""},
		"gemini-2.5-flash": {"", "", "", ""},
		"gemini-3-pro":     {"skip_thought_signature_validator", "", "skip_thought_signature_validator", ""},
	} {
		s := providertest.NewServer(t, parts(`{"text":"ok"}`))
		req := request(history...)
		req.Model = model
		send(t, s, req)
		var body struct {
			Contents []struct {
				Parts []struct {
					Call      json.RawMessage `json:"functionCall"`
					Signature string          `json:"thoughtSignature"`
				} `json:"parts"`
			} `json:"contents"`
		}
		if err := json.Unmarshal(s.Requests()[0].Body, &body); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range body.Contents {
			for _, p := range c.Parts {
				if p.Call != nil {
					got = append(got, p.Signature)
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", model, diff)
		}
	}
}

// TestAModelThatWantsSignatures: its name does not tell that it does, so the
// server's word counts, from then on and without a notice: nothing is lost.
func TestAModelThatWantsSignatures(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, "functionCall") && !strings.Contains(body, "skip_thought_signature_validator") {
			return "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly."
		}
		return ""
	})
	p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	call := provider.ToolCall{ID: "a", Name: "read", Input: json.RawMessage(`{}`)}
	req := request(provider.UserText("hi"), provider.Message{Role: provider.RoleAssistant, Provider: "other",
		Parts: []provider.Part{call}}, answer(call))
	req.Model = "a-gateway-name"
	for range 2 {
		if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil || len(notices(r)) != 0 {
			t.Fatalf("%v %q", r.Err, notices(r))
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests, want 3: what is known is tried again", n)
	}
	t.Run("and takes none", func(t *testing.T) {
		s := refusing(t,
			func(string) string { return "Function call is missing a thought_signature in functionCall parts." })
		r := providertest.Collect((&gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL,
			HTTP: s.HTTP}}).Stream(t.Context(), req))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindInvalid || len(s.Requests()) != 2 {
			t.Errorf("%v after %d requests", r.Err, len(s.Requests()))
		}
	})
}

// TestARefusedSignature: it is sent once more unchanged, then without the signatures so far; later messages keep
// theirs.
func TestARefusedSignature(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, `"old+/=="`) {
			return "Corrupted thought signature."
		}
		return ""
	})
	p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	reply := func(id, sig string) provider.Message {
		return provider.Message{Role: provider.RoleAssistant, Provider: "g", Model: "gemini-3-flash",
			Parts: []provider.Part{
				provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`), Opaque: sig}}}
	}
	req := request(provider.UserText("hi"), reply("a", "old+/=="), answer(provider.ToolCall{ID: "a", Name: "read"}))
	r := providertest.Collect(p.Stream(t.Context(), req))
	if r.Err != nil || len(notices(r)) != 1 || !strings.Contains(notices(r)[0], "reasoning") {
		t.Fatalf("%v %q", r.Err, notices(r))
	}
	req.Messages = append(req.Messages, reply("b", "new+/=="), answer(provider.ToolCall{ID: "b", Name: "read"}))
	if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil || len(notices(r)) != 0 {
		t.Fatalf("%v %q", r.Err, notices(r))
	}
	seen := s.Requests()
	if len(seen) != 4 || !bytes.Equal(seen[0].Body, seen[1].Body) || !bytes.Contains(seen[3].Body, []byte(`"new+/=="`)) {
		t.Errorf("%d requests, the last: %s", len(seen), seen[len(seen)-1].Body)
	}
	if !bytes.HasPrefix(seen[3].Body, bytes.TrimRight(seen[2].Body, "]}")) {
		t.Error("the prefix broke twice")
	}
}

// TestASignatureThatIsRefusedNowAndThen is sent once more each time: another refusal, of another request, is no reason
// yet to drop the reasoning. A signature that was not sent cannot be at fault.
func TestASignatureThatIsRefusedNowAndThen(t *testing.T) {
	t.Parallel()
	n := 0
	s := refusing(t, func(string) string {
		if n++; n%2 == 1 {
			return "Corrupted thought signature."
		}
		return ""
	})
	p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	call := provider.ToolCall{ID: "a", Name: "read", Input: json.RawMessage(`{}`), Opaque: "good+/=="}
	req := request(provider.UserText("hi"), provider.Message{Role: provider.RoleAssistant, Provider: "g",
		Model: "gemini-3-flash", Parts: []provider.Part{call}}, answer(call))
	for range 3 {
		if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil || len(notices(r)) != 0 {
			t.Fatalf("%v %q", r.Err, notices(r))
		}
		req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Provider: "g",
			Model: "gemini-3-flash", Parts: []provider.Part{provider.Text{Text: "ok"}}}, provider.UserText("and?"))
	}
	for i, r := range s.Requests() {
		if !bytes.Contains(r.Body, []byte(`"good+/=="`)) {
			t.Errorf("request %d is without the signature", i)
		}
	}
	s = refusing(t, func(string) string { return "Corrupted thought signature." })
	p = &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	req.Messages[1].Provider = "other"
	if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err == nil || len(s.Requests()) != 1 {
		t.Errorf("%v after %d requests without a signature", r.Err, len(s.Requests()))
	}
}

// TestARefusedWayToThink is left out from then on.
func TestARefusedWayToThink(t *testing.T) {
	t.Parallel()
	s := refusing(t, func(body string) string {
		if strings.Contains(body, "thinkingLevel") {
			return "Thinking level HIGH is not supported for this model."
		}
		return ""
	})
	req := request(provider.UserText("hi"))
	req.Effort = provider.EffortHigh
	r := send(t, s, req)
	if r.Err != nil || len(s.Requests()) != 2 || len(notices(r)) != 1 || !strings.Contains(notices(r)[0], "effort high") {
		t.Errorf("%v, %d requests, %q", r.Err, len(s.Requests()), notices(r))
	}
}

// TestAQuotaThatPassesAndOneThatDoesNot.
func TestAQuotaThatPassesAndOneThatDoesNot(t *testing.T) {
	t.Parallel()
	quota := func(message, id, delay string) string {
		details := ""
		if id != "" {
			details = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"m","quotaId":"` + id + `"}]}`
		}
		if delay != "" {
			details += `,{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"` + delay + `"}`
		}
		return `{"error":{"code":429,"message":"` + message + `","status":"RESOURCE_EXHAUSTED","details":[` +
			strings.TrimPrefix(details, ",") + `]}}`
	}
	const minute, day = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
		"GenerateRequestsPerDayPerProjectPerModel-FreeTier"
	for _, tc := range []struct {
		name, body string
		kind       provider.ErrorKind
		retry      bool
		wait       time.Duration
	}{
		{"a minute's", quota("Quota exceeded, limit: 05", minute, "34.07s"), provider.KindRateLimit,
			true, 34070 * time.Millisecond},
		{"in words", quota("Quota exceeded. Please retry in 12.5s.", "", ""), provider.KindRateLimit,
			true, 12500 * time.Millisecond},
		{"nothing said", quota("Quota exceeded", "", ""), provider.KindRateLimit, true, 0},
		{"a day's", quota("Quota exceeded", day, "34s"), provider.KindRateLimit, false, 34 * time.Second},
		{"none on this plan", quota("Quota exceeded for metric: x, limit: 0, model: gemini-2.5-pro", minute, "34s"),
			provider.KindBilling, false, 34 * time.Second},
		{"no room",
			`{"error":{"code":429,"message":"No capacity","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"MODEL_CAPACITY_EXHAUSTED"}]}}`, provider.KindOverloaded, false, 0},
		{"hours", quota("Quota exceeded", "x", "7200s"), provider.KindRateLimit, true, 2 * time.Hour},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]providertest.Result{
				"by status":     ask(t, providertest.JSON(429, tc.body)),
				"with a header": ask(t, providertest.JSON(429, tc.body).With("Retry-After", "0.001")),
				"in the stream": ask(t,
					providertest.Stream(`data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`+"\n\ndata: "+
						tc.body+"\n\n")),
			} {
				e := provider.AsError(r.Err)
				wait := tc.wait
				if how == "with a header" { // the longer of the two counts
					wait = max(wait, time.Millisecond)
				}
				if e == nil || e.Kind != tc.kind || e.Temporary() != tc.retry || e.RetryAfter != wait {
					t.Errorf("%s: %+v", how, e)
				}
				if e != nil && !tc.retry && e.Hint == "" {
					t.Errorf("%s: nothing to try", how)
				}
			}
		})
	}
	t.Run("key", func(t *testing.T) {
		r := ask(t, providertest.JSON(400,
			`{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}]}}`))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindAuth {
			t.Errorf("%+v", e)
		}
	})
}

// TestTextBesideACallIsKept: the signature in the part they share is the call's.
func TestTextBesideACallIsKept(t *testing.T) {
	t.Parallel()
	r := ask(t, parts(`{"text":"I ","thought":false}`,
		`{"text":"look.","functionCall":{"name":"read","args":{"n":1}},"thoughtSignature":"s"}`))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []provider.Part{provider.Text{Text: "I look."},
		provider.ToolCall{ID: "call_1", Name: "read", Input: json.RawMessage(`{"n":1}`), Opaque: "s"}}
	if diff := cmp.Diff(want, r.Done.Message.Parts); diff != "" || r.Text != "I look." {
		t.Errorf("%q (-want +got)\n%s", r.Text, diff)
	}
}
