package openai_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

// respond makes a reply of events; each is given as its type without
// "response.", and its further fields.
func respond(events ...string) providertest.Reply {
	var b strings.Builder
	for _, e := range events {
		kind, rest, _ := strings.Cut(e, " ")
		fmt.Fprintf(&b, "event: response.%s\ndata: {\"type\":\"response.%s\"%s}\n\n", kind, kind, rest)
	}
	return providertest.Stream(b.String())
}

// The events that most of the replies here have in common.
const (
	begun     = `created ,"response":{"object":"response","model":"m","status":"in_progress","error":null,"output":[]}`
	completed = `completed ,"response":{"object":"response","status":"completed","error":null,"output":[]}`
)

// fcAdded begins a call as the n-th item, fcDelta is a piece of its arguments.
func fcAdded(n int, callID string) string {
	return fmt.Sprintf(
		`output_item.added ,"output_index":%d,"item":{"type":"function_call","id":"fc_%d","call_id":%q,"name":"read","arguments":""}`, n, n, callID)
}

func fcDelta(n int, piece string) string {
	return fmt.Sprintf(`function_call_arguments.delta ,"item_id":"fc_%d","output_index":%d,"delta":%q`, n, n, piece)
}

func askOpenAI(t *testing.T, replies ...providertest.Reply) providertest.Result {
	t.Helper()
	return askForAtMost(t, 0, replies...)
}

func askForAtMost(t *testing.T, tokens int, replies ...providertest.Reply) providertest.Result {
	t.Helper()
	s := providertest.NewServer(t, replies...)
	p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL + "/v1", HTTP: s.HTTP}}
	r := providertest.Collect(p.Stream(t.Context(),
		provider.Request{Options: provider.Options{Model: "m", MaxTokens: tokens},
			Messages: []provider.Message{provider.UserText("hi")}}))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	return r
}

// parts are those of a complete reply, without the payloads.
func parts(t *testing.T, r providertest.Result) []provider.Part {
	t.Helper()
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	list := slices.Clone(r.Done.Message.Parts)
	for i, p := range list {
		switch p := p.(type) {
		case provider.Text:
			p.Opaque = ""
			list[i] = p
		case provider.ToolCall:
			p.Opaque = ""
			list[i] = p
		case provider.Reasoning:
			p.Opaque = ""
			list[i] = p
		}
	}
	return list
}

func wantParts(t *testing.T, r providertest.Result, want ...provider.Part) {
	t.Helper()
	if diff := cmp.Diff(want, parts(t, r)); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// TestOneItemOfMegabytes: an item comes whole on one line when it is
// done, whatever its size.
func TestOneItemOfMegabytes(t *testing.T) {
	t.Parallel()
	args := `{\"text\":\"` + strings.Repeat("0123456789 ", 200_000) + `\"}`
	r := askOpenAI(t, respond(begun, fcAdded(0, "c1"),
		`output_item.done ,"output_index":0,"item":{"type":"function_call","id":"fc_0","call_id":"c1","name":"read","arguments":"`+args+`"}`, completed))
	if r.Err != nil || len(r.Done.Message.Calls()) != 1 || len(r.Done.Message.Calls()[0].Input) != 11*200_000+
		len(`{"text":""}`) {
		t.Errorf("%v, %d parts", r.Err, len(parts(t, r)))
	}
}

// TestFramingOfEveryKindIsRead: comments, carriage returns, events without data and
// runes that two reads share.
func TestFramingOfEveryKindIsRead(t *testing.T) {
	t.Parallel()
	body := ": keep-alive\r\n\r\nevent: ping\r\n\r\n" +
		strings.ReplaceAll(string(respond(begun, `output_text.delta ,"output_index":0,"delta":"漢字 😀"`, completed).Body),
			"\n", "\r\n")
	wantParts(t, askOpenAI(t, providertest.Stream(body).InChunks(1)), provider.Text{Text: "漢字 😀"})
}

// TestAStreamThatJustEnds: nothing but a terminal event or [DONE] makes a reply complete, calls that are whole do not.
func TestAStreamThatJustEnds(t *testing.T) {
	t.Parallel()
	whole := respond(begun, fcAdded(0, "c1"), fcDelta(0, "{}"),
		`output_item.done ,"output_index":0,"item":{"type":"function_call","id":"fc_0","call_id":"c1","name":"read","arguments":"{}"}`)
	for name, reply := range map[string]providertest.Reply{
		"after a call": whole, "reset": whole.Ends(providertest.Reset),
		"after text": respond(begun, `output_text.delta ,"output_index":0,"delta":"x"`,
			`output_text.done ,"output_index":0,"text":"x"`),
		"at once": respond(begun), "in progress": providertest.JSON(200,
			`{"object":"response","status":"in_progress","output":[]}`),
	} {
		e := provider.AsError(askOpenAI(t, reply).Err)
		if e == nil || e.Kind != provider.KindNetwork || !e.Temporary() || reply.End == providertest.Close &&
			!errors.Is(e, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v, want a temporary fault of the network", name, e)
		}
	}
}

// TestAnErrorOfNullIsNone, in the event and in the response.
func TestAnErrorOfNullIsNone(t *testing.T) {
	t.Parallel()
	wantParts(t, askOpenAI(t, respond(begun, `output_text.delta ,"error":null,"output_index":0,"delta":"x"`,
		completed)), provider.Text{Text: "x"})
}

// TestWhatAProxySays: its pages are no replies.
func TestWhatAProxySays(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]provider.ErrorKind{200: provider.KindProvider, 413: provider.KindContext} {
		if e := provider.AsError(askOpenAI(t, providertest.Page(status, "Blocked")).Err); e == nil || e.Kind != kind {
			t.Errorf("%d: %v, want %s", status, e, kind)
		}
	}
}

// TestAStallEnds after the silence that is allowed, and not before.
func TestAStallEnds(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t, respond(begun).Ends(providertest.Hang))
	p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP,
		Idle: 20 * time.Millisecond}}
	r := providertest.Collect(p.Stream(t.Context(),
		provider.Request{Messages: []provider.Message{provider.UserText("hi")}}))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindTimeout {
		t.Errorf("%v, want a timeout", r.Err)
	}
}

// TestResponsesTellsCallsApart by the place of their items, whatever
// their ids are.
func TestResponsesTellsCallsApart(t *testing.T) {
	t.Parallel()
	one, two := call("a", `{"n":1}`), call("b", `{"n":2}`)
	item := func(event, index, id, callID string) string {
		return fmt.Sprintf(
			`output_item.%s ,%s"item":{"type":"function_call","id":%q,"call_id":%q,"name":"read","arguments":""}`,
			event, index, id, callID)
	}
	piece := func(index, id, text string) string {
		return fmt.Sprintf(`function_call_arguments.delta ,%s"item_id":%q,"delta":%q`, index, id, text)
	}
	const zero, first = `"output_index":0,`, `"output_index":1,`
	for _, tc := range []struct {
		name   string
		events []string
		want   []provider.Part
	}{
		{"pieces that take turns", []string{item("added", zero, "fc_1", "a"), item("added", first, "fc_2", "b"),
			piece(zero, "fc_1", `{"n"`), piece(first, "fc_2", `{"n"`), piece(zero, "fc_1", `:1}`),
			piece(first, "fc_2", `:2}`)}, []provider.Part{one, two}},
		{"another id in each event", []string{item("added", zero, "x1", "a"), piece(zero, "x2", `{"n":1}`),
			item("done", zero, "x3", "a"),
			item("added", first, "x4", "b"), piece(first, "x5", `{"n":2}`),
			item("done", first, "x6", "b")}, []provider.Part{one, two}},
		{"ids only", []string{item("added", "", "fc_1", "a"), item("added", "", "fc_2", "b"),
			piece("", "fc_2", `{"n":2}`), piece("", "fc_1", `{"n":1}`)}, []provider.Part{one, two}},
		{"neither", []string{item("added", "", "", "a"), piece("", "", `{"n":1}`), item("added", "", "", "b"),
			piece("", "", `{"n":2}`)}, []provider.Part{one, two}},
		{"one index for all", []string{item("added", zero, "fc_1", "a"), piece(zero, "fc_1", `{"n":1}`),
			item("done", zero, "fc_1", "a"),
			item("added", zero, "fc_2", "b"), piece(zero, "fc_2", `{"n":2}`),
			item("done", zero, "fc_2", "b")}, []provider.Part{one, two}},
		{"one index for items of all kinds",
			[]string{`reasoning_summary_text.delta ,"output_index":0,"item_id":"rs_1","delta":"hm"`,
				item("added", zero, "fc_1", "a"),
				piece(zero, "fc_1", `{"n":1}`)},
			[]provider.Part{provider.Reasoning{Text: "hm", Form: "reasoning_item"}, one}},
		{"one index, items that take turns",
			[]string{`reasoning_summary_text.delta ,"output_index":0,"item_id":"rs_1","delta":"h"`,
				item("added", zero, "fc_1", "a"),
				`reasoning_summary_text.delta ,"output_index":0,"item_id":"rs_1","delta":"m"`,
				piece(zero, "fc_1", `{"n":1}`)},
			[]provider.Part{provider.Reasoning{Text: "hm", Form: "reasoning_item"}, one}},
		{"the index comes late", []string{item("added", "", "fc_1", "a"), piece(zero, "fc_1", `{"n":1}`)},
			[]provider.Part{one}},
		{"the index goes missing", []string{item("added", zero, "fc_1", "a"), item("added", first, "fc_2", "b"),
			piece("", "fc_1", `{"n":1}`), piece(first, "fc_2", `{"n":2}`)}, []provider.Part{one, two}},
		{"one id for all", []string{item("added", zero, "x", "a"), item("added", first, "x", "b"),
			piece(zero, "x", `{"n":1}`), piece(first, "x", `{"n":2}`)}, []provider.Part{one, two}},
		{"no ids of calls", []string{item("added", zero, "fc_1", ""), piece(zero, "fc_1", `{"n":1}`)},
			[]provider.Part{call("call_1", `{"n":1}`)}},
		{"the same id twice", []string{item("added", zero, "fc_1", "a"), piece(zero, "fc_1", `{"n":1}`),
			item("added", first, "fc_2", "a"), piece(first, "fc_2", `{"n":2}`)},
			[]provider.Part{one, call("call_1", `{"n":2}`)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := askOpenAI(t, respond(append(append([]string{begun}, tc.events...), completed)...))
			wantParts(t, r, tc.want...)
			if r.Done.Stop != provider.StopToolUse {
				t.Errorf("stop %s: there are calls", r.Done.Stop)
			}
		})
	}
}

// TestArgumentsArriveInAnyForm: they count when the item is done, and no word announces calls.
func TestArgumentsArriveInAnyForm(t *testing.T) {
	t.Parallel()
	bad := provider.ToolCall{ID: "a", Name: "read", Input: []byte(`{}`), Raw: `{"n":`}
	for _, tc := range []struct {
		name   string
		events []string
		want   provider.ToolCall
	}{
		{"none", []string{fcAdded(0, "a"), `function_call_arguments.done ,"output_index":0,"arguments":""`},
			call("a", `{}`)},
		{"whole at the start of more", []string{fcAdded(0, "a"), fcDelta(0, `{"n":1}`), fcDelta(0, ` `)},
			call("a", `{"n":1}`)},
		{"only in the end", []string{fcAdded(0, "a"),
			`function_call_arguments.done ,"output_index":0,"arguments":"{\"n\":1}"`}, call("a", `{"n":1}`)},
		{"only in the response", []string{fcAdded(0, "a"),
			`completed ,"response":{"status":"completed","output":[{"type":"function_call","id":"fc_0","call_id":"a","name":"read","arguments":"{\"n\":1}"}]}`},
			call("a", `{"n":1}`)},
		{"a whole item where pieces were lost", []string{fcAdded(0, "a"), fcDelta(0, `{"n"`),
			`output_item.done ,"output_index":0,"item":{"type":"function_call","call_id":"a","name":"read","arguments":"{\"n\":1}"}`}, call("a", `{"n":1}`)},
		{"encoded twice", []string{fcAdded(0, "a"), fcDelta(0, `"{\"n\":1}"`)}, call("a", `{"n":1}`)},
		{"as an object", []string{fcAdded(0, "a"),
			`function_call_arguments.done ,"output_index":0,"arguments":{"n":1}`}, call("a", `{"n":1}`)},
		{"no JSON", []string{fcAdded(0, "a"), fcDelta(0, `{"n":`)}, bad},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := askOpenAI(t, respond(append(append([]string{begun}, tc.events...), completed)...))
			wantParts(t, r, tc.want)
			if r.Done.Stop != provider.StopToolUse {
				t.Errorf("stop %s", r.Done.Stop)
			}
		})
	}
}

// TestWhatWasCut: the calls of a cut reply never run, and where the
// reasoning took all there was, the reply says so.
func TestWhatWasCut(t *testing.T) {
	t.Parallel()
	incomplete := func(reason string) string {
		return `incomplete ,"response":{"status":"incomplete","incomplete_details":{"reason":"` +
			reason + `"},"usage":{"input_tokens":5,"output_tokens":16,"output_tokens_details":{"reasoning_tokens":16}}}`
	}
	r := askOpenAI(t, respond(begun, fcAdded(0, "a"), fcDelta(0, `{"n":1}`), incomplete("max_output_tokens")))
	if r.Err != nil || r.Done.Stop != provider.StopMaxTokens || len(r.Done.Message.Calls()) != 1 {
		t.Errorf("in a call: %v %+v", r.Err, r.Done)
	}
	r = askOpenAI(t, respond(begun,
		`output_item.added ,"output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"part"}`, incomplete("max_output_tokens")))
	if r.Err != nil || r.Done.Stop != provider.StopMaxTokens ||
		!strings.Contains(r.Done.Detail, "reasoning took all") || r.Done.Usage.Reasoning != 16 {
		t.Errorf("in the reasoning: %v %+v", r.Err, r.Done)
	}
	r = askOpenAI(t, respond(begun, `output_text.delta ,"output_index":0,"delta":"x"`, incomplete("content_filter")))
	if r.Err != nil || r.Done.Stop != provider.StopRefusal || r.Done.Detail == "" {
		t.Errorf("filtered: %v %+v", r.Err, r.Done)
	}
}

// TestARefusalIsTold: a refusal is its own kind of end, and its text is no answer.
func TestARefusalIsTold(t *testing.T) {
	t.Parallel()
	item := `output_item.done ,"output_index":0,"item":{"type":"message","id":"msg_1","content":[{"type":"refusal","refusal":"I cannot do that."}]}`
	for name, events := range map[string][]string{
		"in pieces": {`refusal.delta ,"output_index":0,"delta":"I cannot "`,
			`refusal.delta ,"output_index":0,"delta":"do that."`, item},
		"whole": {item},
	} {
		r := askOpenAI(t, respond(append(append([]string{begun}, events...), completed)...))
		if r.Err != nil || r.Done.Stop != provider.StopRefusal || r.Done.Detail != "I cannot do that." || r.Text != "" {
			t.Errorf("%s: %v %+v", name, r.Err, r.Done)
		}
	}
	// A refusal beside a call is a part of the answer: the call runs.
	r := askOpenAI(t, respond(begun, item, fcAdded(1, "a"), fcDelta(1, `{"n":1}`), completed))
	if r.Err != nil || r.Done.Stop != provider.StopToolUse || len(r.Done.Message.Calls()) != 1 {
		t.Errorf("beside a call: %v %+v", r.Err, r.Done)
	}
}

// TestAFailureMayComeAfter200: code and message stand in one of three places, and decide.
func TestAFailureMayComeAfter200(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		code, message string
		kind          provider.ErrorKind
		again         bool
	}{
		{"context_length_exceeded", "Your input exceeds the context window of this model.", provider.KindContext, false},
		{"server_error", "the request exceeds the available context size", provider.KindContext, false},
		{"insufficient_quota", "You exceeded your current quota.", provider.KindBilling, false},
		{"rate_limit_exceeded", "Rate limit reached.", provider.KindRateLimit, true},
		{"server_is_overloaded", "Our servers are overloaded.", provider.KindOverloaded, true},
		{"server_error", "An error occurred.", provider.KindProvider, true},
		{"invalid_prompt", "Flagged.", provider.KindRefused, false},
		{"bio_policy", "Flagged.", provider.KindRefused, false},
		{"image_too_large", "The image is too large.", provider.KindInvalid, false},
		{"data_residency_mismatch", "Not here.", provider.KindInvalid, false},
		{"invalid_api_key", "Incorrect API key provided.", provider.KindAuth, false},
	} {
		object := fmt.Sprintf(`{"code":%q,"message":%q,"param":null}`, tc.code, tc.message)
		head := string(respond(begun, `output_text.delta ,"output_index":0,"delta":"x"`).Body)
		for place, event := range map[string]string{
			"flat":   `{"type":"error","sequence_number":3,` + object[1:],
			"nested": `{"type":"error","error":` + object + `}`,
			"in response": `{"type":"response.failed","response":{"status":"failed","error":` + object +
				`,"usage":{"input_tokens":7,"output_tokens":1}}}`,
			"no event": `{"error":` + object + `}`,
		} {
			e := provider.AsError(askOpenAI(t, providertest.Stream(head+"data: "+event+"\n\n")).Err)
			if e == nil || e.Kind != tc.kind || e.Code != tc.code || e.Message != tc.message || e.Temporary() != tc.again {
				t.Errorf("%s %s: %+v, want %s, again %v", tc.code, place, e, tc.kind, tc.again)
			}
			if place == "in response" && e != nil && e.Usage.Prompt() != 7 {
				t.Errorf("usage %+v", e.Usage)
			}
		}
	}
	for name, event := range map[string]string{"failed": `failed ,"response":{"status":"failed","error":null}`,
		"cancelled": `cancelled ,"response":null`} {
		if e := provider.AsError(askOpenAI(t, respond(begun, event)).Err); e == nil ||
			e.Kind != provider.KindProvider || e.Message == "" {
			t.Errorf("%s without a word: %+v", name, e)
		}
	}
}

// TestAWaitInWords: a reply that had begun well has no header to say how
// long to wait; the words do.
func TestAWaitInWords(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]time.Duration{
		"Limit 30000, Used 22999, Requested 12528. Please try again in 11.054s. Visit https://x": 11054 * time.Millisecond,
		"Please try again in 28ms.":           28 * time.Millisecond,
		"Please try again in 6m0s":            6 * time.Minute,
		"Please try again in a little while.": 0,
		"Please try again in -3s.":            0,
	} {
		e := provider.AsError(askOpenAI(t, respond(begun,
			fmt.Sprintf(`failed ,"response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":%q}}`,
				words))).Err)
		if e == nil || e.Kind != provider.KindRateLimit || e.RetryAfter != want {
			t.Errorf("%s: %+v, want %s", words, e, want)
		}
	}
}

// TestUsageIsCountedAsTheServerCountsIt: cached tokens are counted once, and a server
// that counts nothing reports nothing.
func TestUsageIsCountedAsTheServerCountsIt(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]provider.Usage{
		`{"input_tokens":130,"input_tokens_details":{"cached_tokens":100,"cache_write_tokens":20},"output_tokens":9,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":139}`: {Input: 10, CacheRead: 100, CacheWrite: 20, Output: 9, Reasoning: 4},
		`{"input_tokens":13,"output_tokens":9}`:                                                {Input: 13, Output: 9},
		`{"input_tokens":-1,"input_tokens_details":{"cached_tokens":5},"output_tokens":1e300}`: {CacheRead: 5},
		`null`: {},
	} {
		r := askOpenAI(t, respond(begun, `output_text.delta ,"output_index":0,"delta":"x"`,
			`completed ,"response":{"status":"completed","output":[],"usage":`+usage+`}`))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if diff := cmp.Diff(want, r.Done.Usage); diff != "" {
			t.Errorf("%s (-want +got):\n%s", usage, diff)
		}
	}
}

// TestWhatIsRefusedIsLeftOut: no table knows every model and every account. A field that was refused is left out from
// then on, with a notice if something is lost; another refusal of the absent field is final.
func TestWhatIsRefusedIsLeftOut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ message, field string }{
		{"Unsupported parameter: 'temperature' is not supported with this model.", `"temperature"`},
		{"Your organization must be verified to generate reasoning summaries.", `"summary"`},
		{"Unsupported parameter: 'reasoning.effort' is not supported with this model.", `"effort"`},
		{"Encrypted content is not supported with this model.", `"include"`},
	} {
		refused := providertest.Fail(http.StatusBadRequest, "invalid_request_error", tc.message)
		s := providertest.NewServer(t, refused, providertest.Responses(providertest.Text("ok")), refused)
		p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
		heat := 1.0
		req := provider.Request{Options: provider.Options{Model: "gpt-5.6-sol", Effort: provider.EffortHigh,
			Temperature: &heat}, Messages: []provider.Message{provider.UserText("hi")}}
		if tc.field == `"temperature"` {
			req.Model, req.Effort = "unheard-of", ""
		}
		ask := func() providertest.Result { return providertest.Collect(p.Stream(t.Context(), req)) }
		r := ask()
		told := slices.ContainsFunc(r.Events, func(e provider.Event) bool { _, ok := e.(provider.Notice); return ok })
		if want := tc.field == `"temperature"` || tc.field == `"effort"`; r.Err != nil || told != want {
			t.Errorf("%s: %v, told %v", tc.field, r.Err, told)
		}
		if e := provider.AsError(ask().Err); e == nil || e.Temporary() {
			t.Errorf("%s: refused again though it was not sent: %v, want a final error", tc.field, e)
		}
		for i, seen := range s.Requests() {
			if got := strings.Contains(string(seen.Body), tc.field); got != (i == 0) {
				t.Errorf("%s: in request %d: %v\n%s", tc.field, i, got, seen.Body)
			}
		}
		if req.Model = "gpt-5.6-luna"; tc.field == `"summary"` {
			ask()
			if !strings.Contains(string(s.Requests()[3].Body), tc.field) {
				t.Error("what one model refuses is left out for another")
			}
		}
	}
}

// TestACompletedReplyOfFullLengthIsCut: llama.cpp calls a reply completed that
// ended because it had all the tokens it was asked for.
func TestACompletedReplyOfFullLengthIsCut(t *testing.T) {
	t.Parallel()
	for tokens, want := range map[int]provider.StopReason{20: provider.StopMaxTokens, 3: provider.StopMaxTokens,
		21: provider.StopComplete, 0: provider.StopComplete} {
		r := askForAtMost(t, tokens, respond(begun, `output_text.delta ,"output_index":0,"delta":"half of it"`,
			`completed ,"response":{"object":"response","status":"completed","error":null,"output":[],"usage":{"input_tokens":5,"output_tokens":20}}`))
		if r.Err != nil || r.Done.Stop != want {
			t.Errorf("20 of %d tokens: %+v %v, want %s", tokens, r.Done, r.Err, want)
		}
	}
}
