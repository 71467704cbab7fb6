package gemini_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

// ask plays one reply.
func ask(t *testing.T, reply providertest.Reply) providertest.Result {
	t.Helper()
	s := providertest.NewServer(t, reply)
	return send(t, s, request(provider.UserText("hi")))
}

func send(t *testing.T, s *providertest.Server, req provider.Request) providertest.Result {
	t.Helper()
	p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL, HTTP: s.HTTP}}
	r := providertest.Collect(p.Stream(t.Context(), req))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	return r
}

func request(messages ...provider.Message) provider.Request {
	return provider.Request{Options: provider.Options{Model: "gemini-3-flash"}, Messages: messages}
}

// parts is a stream of events with one candidate each, in its JSON's inner form;
// the last ends the reply.
func parts(contents ...string) providertest.Reply {
	var b strings.Builder
	for i, c := range contents {
		end := ""
		if i == len(contents)-1 {
			end = `,"finishReason":"STOP"`
		}
		b.WriteString(`data: {"candidates":[{"content":{"role":"model","parts":[` + c + `]}` + end + `}]}` + "\n\n")
	}
	return providertest.Stream(b.String())
}

func TestSignaturesStayOnTheirPart(t *testing.T) {
	t.Parallel()
	const sig = `"thoughtSignature":"aa+/b_-=="`
	call := func(id, opaque string) provider.ToolCall {
		return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`), Opaque: opaque}
	}
	for _, tc := range []struct {
		name  string
		reply providertest.Reply
		want  []provider.Part
	}{
		{"on a call", parts(`{"functionCall":{"name":"read"},` + sig + `}`), []provider.Part{call("call_1", "aa+/b_-==")}},
		{"on the first of three", parts(`{"functionCall":{"name":"read"},`+sig+`},{"functionCall":{"id":"b","name":"read"}}`,
			`{"functionCall":{"id":"c","name":"read"}}`),
			[]provider.Part{call("call_1", "aa+/b_-=="), call("b", ""), call("c", "")}},
		{"on an empty text at the end", parts(`{"text":"a"}`, `{"text":"b"}`, `{"text":"",`+sig+`}`),
			[]provider.Part{provider.Text{Text: "ab"}, provider.Text{Opaque: "aa+/b_-=="}}},
		{"on a text in the middle", parts(`{"text":"a"}`, `{"text":"b",`+sig+`}`, `{"text":"c"}`, `{"text":"d"}`),
			[]provider.Part{provider.Text{Text: "a"}, provider.Text{Text: "b", Opaque: "aa+/b_-=="},
				provider.Text{Text: "cd"}}},
		{"on a thought", parts(`{"text":"a","thought":true}`, `{"text":"b","thought":true,`+sig+`}`, `{"text":"c"}`),
			[]provider.Part{provider.Reasoning{Text: "a", Form: "thought"},
				provider.Reasoning{Text: "b", Form: "thought", Opaque: "aa+/b_-=="}, provider.Text{Text: "c"}}},
		{"in snake case nowhere", parts(`{"text":"a","novelty":{"x":1}},{"novelty":2},{"text":"b"}`),
			[]provider.Part{provider.Text{Text: "ab"}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, tc.reply)
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Message.Parts); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			history := []provider.Message{provider.UserText("hi"), r.Done.Message}
			for _, c := range r.Done.Message.Calls() {
				history = append(history, provider.Message{Role: provider.RoleTool,
					Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Name: c.Name, Text: "x"}}})
			}
			history = provider.Repair(history)
			s := providertest.NewServer(t, parts(`{"text":"ok"}`), parts(`{"text":"ok"}`))
			send(t, s, request(history...))
			want := 0
			if tc.name != "in snake case nowhere" {
				want = 1
			}
			body := s.Requests()[0].Body
			if got := bytes.Count(body, []byte(sig)); got != want {
				t.Errorf("%d signatures went back, want %d: %s", got, want, body)
			}
			other := request(history...)
			other.Model = "gemini-3-pro"
			send(t, s, other)
			if body := s.Requests()[1].Body; bytes.Contains(body, []byte("aa+")) {
				t.Errorf("a signature went to another model: %s", body)
			}
		})
	}
}

func TestEndings(t *testing.T) {
	t.Parallel()
	end := func(word, message, content string) providertest.Reply {
		return providertest.Stream(`data: {"candidates":[{` + content + `"finishReason":"` + word +
			`","finishMessage":"` + message + `"}]}` + "\n\n")
	}
	const some = `"content":{"parts":[{"text":"some"}]},`
	for _, tc := range []struct {
		name  string
		reply providertest.Reply
		stop  provider.StopReason
		kind  provider.ErrorKind
		retry bool
		says  string // the detail, or the error
	}{
		{"safety with text", end("SAFETY", "", some), provider.StopRefusal, "", false,
			"the provider stopped the reply: its safety filter blocked it (SAFETY)"},
		{"safety without", end("SAFETY", "because", ""), provider.StopRefusal, "", false, "because"},
		{"recitation", end("RECITATION", "", some), provider.StopRefusal, "", false,
			"the provider stopped the reply: it came too close to a copyrighted text (RECITATION)"},
		{"all went into reasoning", end("MAX_TOKENS", "", ""), provider.StopMaxTokens, "", false, ""},
		{"malformed call", end("MALFORMED_FUNCTION_CALL", "call: print(", ""), "", provider.KindProvider, true,
			"cannot be read: call: print("},
		{"unexpected call", end("UNEXPECTED_TOOL_CALL", "", some), "", provider.KindProvider, true, "not given"},
		{"too many calls", end("TOO_MANY_TOOL_CALLS", "", some), "", provider.KindProvider, true, "too many"},
		{"malformed answer", end("MALFORMED_RESPONSE", "", some), "", provider.KindProvider, true, "cannot be read"},
		{"other", end("OTHER", "", some), "", provider.KindProvider, true, "without giving a reason"},
		{"lost signature", end("MISSING_THOUGHT_SIGNATURE", "", ""), "", provider.KindInvalid, false, "signature"},
		{"nothing", end("STOP", "", ""), "", provider.KindProvider, true, "empty"},
		{"nothing but an empty text", end("STOP", "", `"content":{"parts":[{"text":""}]},`), "", provider.KindProvider,
			true, "empty"},
		{"not said yet", end("FINISH_REASON_UNSPECIFIED", "", some), "", provider.KindNetwork, true,
			"before the reply was complete"},
		{"blocked",
			providertest.Stream(
				`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":7}}` +
					"\n\n"), "", provider.KindRefused, false, "blocked: PROHIBITED_CONTENT"},
		{"blocked with words",
			providertest.Stream(`data: {"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"}}` + "\n\n"),
			"", provider.KindRefused, false, "blocked: OTHER: no"},
		{"not blocked",
			providertest.Stream(
				`data: {"promptFeedback":{"blockReason":"BLOCK_REASON_UNSPECIFIED"},"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}` + "\n\n"), provider.StopComplete, "", false, ""},
		{"another candidate's end",
			providertest.Stream(
				`data: {"candidates":[{"content":{"parts":[{"text":"x"}]}},{"index":1,"finishReason":"STOP"}]}` +
					"\n\n"), "", provider.KindNetwork, true, "complete"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, tc.reply)
			if tc.kind == "" {
				if r.Err != nil || r.Done.Stop != tc.stop || r.Done.Detail != tc.says {
					t.Errorf("%+v %v", r.Done, r.Err)
				}
				return
			}
			e := provider.AsError(r.Err)
			if e == nil || e.Kind != tc.kind || e.Temporary() != tc.retry || !strings.Contains(e.Message, tc.says) {
				t.Errorf("got %+v, want kind %s, temporary %v, %q", e, tc.kind, tc.retry, tc.says)
			}
		})
	}
}

func TestABlockedPromptWasStillCharged(t *testing.T) {
	t.Parallel()
	r := ask(t,
		providertest.Stream(
			`data: {"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":7,"totalTokenCount":7}}`+"\n\n"))
	if e := provider.AsError(r.Err); e == nil || e.Usage.Input != 7 {
		t.Errorf("%+v", e)
	}
}

// TestUsage: the last count holds, reasoning is output, cached tokens are no input.
func TestUsage(t *testing.T) {
	t.Parallel()
	r := ask(t, providertest.Stream(`data: {"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":1}}`+"\n\n"+
		`data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"responseId":"r","usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":900,"toolUsePromptTokenCount":30,"candidatesTokenCount":20,"thoughtsTokenCount":300,"totalTokenCount":1350}}`+"\n\n"+
		`data: {"usageMetadata":{"trafficType":"ON_DEMAND"}}`+"\n\n"))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := provider.Usage{Input: 130, CacheRead: 900, Output: 320, Reasoning: 300}
	if diff := cmp.Diff(want, r.Done.Usage); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTheReplyNamesItsRequest(t *testing.T) {
	t.Parallel()
	body := `{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}],"modelVersion":"gemini-3-flash-002","responseId":"resp-1"}`
	r := ask(t, providertest.Stream("data: "+body+"\n\n"))
	if s, ok := r.Events[0].(provider.Started); !ok || s.RequestID != "resp-1" || s.Model != "gemini-3-flash-002" ||
		r.Done.RequestID != "resp-1" {
		t.Errorf("%+v %+v", r.Events[0], r.Done)
	}
	r = ask(t, providertest.Stream("data: "+body+"\n\n").With("X-Goog-Request-Id", "head-1"))
	if r.Done == nil || r.Done.RequestID != "head-1" {
		t.Errorf("%+v %v", r.Done, r.Err)
	}
}

// TestAnArray: a server that does not know alt=sse answers with one JSON array.
func TestAnArray(t *testing.T) {
	t.Parallel()
	const array = `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]},` + "\n" +
		`{"candidates":[{"content":{"parts":[{"text":"b"},{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}]`
	r := ask(t, providertest.JSON(200, array))
	if r.Err != nil || r.Text != "ab" || r.Done.Stop != provider.StopToolUse {
		t.Errorf("%+v %v", r.Done, r.Err)
	}
	r = ask(t, providertest.JSON(200, `[{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}]`))
	if !errors.Is(r.Err, io.ErrUnexpectedEOF) {
		t.Errorf("an array without an end: %+v %v", r.Done, r.Err)
	}
	r = ask(t, providertest.JSON(200, `{"candidates":[{"content":{"parts":[{"text":"a"}]}}]}`))
	if r.Err != nil || r.Text != "a" {
		t.Errorf("one document: %v", r.Err)
	}
	r = ask(t, providertest.JSON(403, `[{"error":{"code":403,"message":"not yours","status":"PERMISSION_DENIED"}}]`))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindAuth || e.Message != "not yours" {
		t.Errorf("an array with an error: %+v", e)
	}
}

// Vertex sends arguments in pieces where a gateway asked for them: such a call must not run without.
func TestACallInPiecesIsNotRun(t *testing.T) {
	t.Parallel()
	for _, pieces := range []string{
		`{"functionCall":{"name":"read","willContinue":true}}|{"functionCall":{"partialArgs":[{"jsonPath":"$.path","stringValue":"a"}],"willContinue":true}}|{"functionCall":{}}`,
		`{"functionCall":{"name":"read","partialArgs":[{"jsonPath":"$.path","stringValue":"a"}]}}`,
	} {
		r := ask(t, parts(strings.Split(pieces, "|")...))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		if calls := r.Done.Message.Calls(); len(calls) != 1 || calls[0].Raw != "the arguments came in pieces" {
			t.Errorf("%s: %+v", pieces, calls)
		}
	}
}

func TestTheAddress(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"": "/v1beta/models/gemini-3-flash",
		"/v1beta": "/v1beta/models/gemini-3-flash", "/gate/": "/gate/v1beta/models/gemini-3-flash"} {
		for _, model := range []string{"gemini-3-flash", "models/gemini-3-flash"} {
			s := providertest.NewServer(t, parts(`{"text":"ok"}`))
			p := &gemini.Provider{Server: provider.Server{Name: "g", BaseURL: s.URL + base, HTTP: s.HTTP,
				Key:     func(context.Context) (string, error) { return "key-0123456789", nil },
				Headers: map[string]string{"X-Extra": "1"}}}
			req := request(provider.UserText("hi"))
			req.Model = model
			if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
				t.Fatal(r.Err)
			}
			seen := s.Requests()[0]
			if seen.Path != want+":streamGenerateContent" || seen.Query != "alt=sse" {
				t.Errorf("%q, %s: asked %s?%s", base, model, seen.Path, seen.Query)
			}
			if seen.Header.Get("X-Goog-Api-Key") != "key-0123456789" || seen.Header.Get("X-Extra") != "1" {
				t.Errorf("headers %v", seen.Header)
			}
		}
	}
}

func TestTheLastWordsOfAnError(t *testing.T) {
	t.Parallel()
	r := ask(t, providertest.JSON(400,
		`{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}`))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindContext || e.Window != 1048575 ||
		e.Requested != 1196265 {
		t.Errorf("%+v", e)
	}
	r = ask(t, providertest.JSON(503,
		`{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`).With("Retry-After", "2"))
	if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindOverloaded || e.RetryAfter != 2*time.Second ||
		!e.Temporary() {
		t.Errorf("%+v", e)
	}
}
