package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/providertest"
)

const (
	start = `data: {"type":"message_start","message":{"model":"m","content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":5,"output_tokens":1}}}` + "\n\n"
	end   = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9,"input_tokens":null}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
)

func ask(t *testing.T, reply providertest.Reply) providertest.Result {
	t.Helper()
	s := providertest.NewServer(t, reply)
	p := &anthropic.Provider{Server: provider.Server{Name: "p", BaseURL: s.URL, HTTP: s.HTTP}}
	r := providertest.Collect(p.Stream(t.Context(),
		provider.Request{Options: provider.Options{Model: "m"}, Messages: []provider.Message{provider.UserText("hi")}}))
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	return r
}

func TestReplies(t *testing.T) {
	t.Parallel()
	ev := func(s string) string { return "data: " + s + "\n\n" }
	tests := []struct {
		name string
		body string
		want []provider.Part
		stop provider.StopReason
	}{
		{"interleaved blocks", start +
			ev(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`) +
			ev(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read"}}`) +
			ev(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\":"}}`) +
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`) +
			ev(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`) +
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"ab"}}`) +
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"cd"}}`) + end,
			[]provider.Part{provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "abcd"},
				provider.ToolCall{ID: "a", Name: "read", Input: json.RawMessage(`{"x":1}`)}},
			provider.StopToolUse},
		{"blocks that begin out of order", start +
			ev(`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"b","name":"read","input":{}}}`) +
			ev(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"hm","signature":"s"}}`) +
			ev(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"a","name":"read","input":{}}}`) + end,
			[]provider.Part{provider.Reasoning{Text: "hm", Form: "thinking", Opaque: "s"},
				provider.ToolCall{ID: "a", Name: "read", Input: json.RawMessage(`{}`)},
				provider.ToolCall{ID: "b", Name: "read", Input: json.RawMessage(`{}`)}},
			provider.StopToolUse},
		{"redacted thought, arguments in the start, unknown blocks", start +
			ev(`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"xyz"}}`) +
			ev(
				`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web"}}`) +
			ev(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}`) +
			ev(
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"read","input":{"x":2}}}`) +
			ev(`{"type":"content_block_delta","index":2,"delta":{"type":"novel_delta"}}`) + end,
			[]provider.Part{provider.Reasoning{Form: "redacted_thinking", Opaque: "xyz"},
				provider.ToolCall{ID: "a", Name: "read", Input: json.RawMessage(`{"x":2}`)}},
			provider.StopToolUse},
		{"a delta without a start", start +
			ev(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`) + end,
			[]provider.Part{provider.Text{Text: "x"}}, provider.StopComplete},
		{"withheld thought", start +
			ev(
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":"s"}}`) + end,
			[]provider.Part{provider.Reasoning{Form: "thinking", Opaque: "s"}}, provider.StopComplete},
		{"error:null is no error", start + ev(`{"type":"ping","error":null}`) + end, nil, provider.StopComplete},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			r := ask(t, providertest.Stream(tc.body))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Message.Parts); diff != "" || r.Done.Stop != tc.stop {
				t.Errorf("stop %s, parts (-want +got):\n%s", r.Done.Stop, diff)
			}
			if diff := cmp.Diff(provider.Usage{Input: 7, CacheRead: 5, Output: 9}, r.Done.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARefusalIsExplained(t *testing.T) {
	t.Parallel()
	r := ask(t, providertest.Stream(start+
		`data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"because"}}}`+"\n\n"+`data: {"type":"message_stop"}`+"\n\n"))
	if r.Err != nil || r.Done.Stop != provider.StopRefusal || r.Done.Detail != "because" {
		t.Errorf("%+v", r)
	}
}

func TestAReplyThatStartsAgainCountsOnce(t *testing.T) {
	t.Parallel()
	text := func(s string) string {
		return `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}` + "\n\n"
	}
	r := ask(t, providertest.Stream(start+text("first try")+start+text("second")+end))
	if r.Err != nil || r.Done.Message.Text() != "second" {
		t.Fatalf("%+v", r)
	}
	for _, ev := range r.Events {
		if _, ok := ev.(provider.Notice); ok {
			return
		}
	}
	t.Error("no notice that what was shown is void")
}

func TestAFailedReplyTellsWhatItUsed(t *testing.T) {
	t.Parallel()
	for name, rest := range map[string]string{
		"cut":     "",
		"no stop": `data: {"type":"message_stop"}` + "\n\n",
		"error": `event: error` + "\n" +
			`data: {"type":"error","error":{"type":"overloaded_error","message":"busy"},"request_id":"req_9"}` + "\n\n",
		"mute": `data: {"type":"error","error":{}}` + "\n\n",
	} {
		e := provider.AsError(ask(t, providertest.Stream(start+rest)).Err)
		if e == nil || e.Usage.Input != 7 || e.Usage.CacheRead != 5 || !e.Temporary() {
			t.Errorf("%s: %+v", name, e)
		}
		if (name == "cut" || name == "no stop") && !errors.Is(e, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, e)
		}
	}
}

func TestAWholeMessageIsTaken(t *testing.T) {
	t.Parallel()
	r := ask(t, providertest.JSON(200, "\n\n"+
		`{"type":"message","model":"m","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"read","input":{"p":1}}],"stop_reason":"tool_use","usage":{"input_tokens":3,"output_tokens":4}}`))
	if r.Err != nil || r.Text != "x" || r.Reasoning != "hm" || r.Done.Stop != provider.StopToolUse ||
		len(r.Done.Message.Parts) != 3 || r.Done.Usage.Output != 4 {
		t.Errorf("%+v", r)
	}
	if e := provider.AsError(ask(t, providertest.JSON(200, `{"type":"novel"}`)).Err); e == nil ||
		e.Kind != provider.KindProvider {
		t.Errorf("not a message: %v", e)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	key := func(context.Context) (string, error) { return "k1", nil }
	for name, tc := range map[string]struct {
		p    *anthropic.Provider
		want map[string]string
	}{
		"key": {&anthropic.Provider{Server: provider.Server{Key: key}}, map[string]string{"X-Api-Key": "k1",
			"Authorization": "", "Anthropic-Version": "2023-06-01", "Content-Type": "application/json"}},
		"bearer": {&anthropic.Provider{Server: provider.Server{Key: key, Form: provider.Form{Auth: provider.AuthBearer}}},
			map[string]string{"X-Api-Key": "", "Authorization": "Bearer k1"}},
		"headers": {&anthropic.Provider{Server: provider.Server{Headers: map[string]string{"anthropic-beta": "b",
			"User-Agent": "u"}}}, map[string]string{"X-Api-Key": "", "Anthropic-Beta": "b", "User-Agent": "u"}},
	} {
		s := providertest.NewServer(t, providertest.Anthropic(providertest.Text("ok")))
		tc.p.BaseURL, tc.p.HTTP = s.URL+"/v1", s.HTTP
		providertest.Collect(tc.p.Stream(t.Context(),
			provider.Request{Messages: []provider.Message{provider.UserText("hi")}}))
		seen := s.Requests()[0]
		if seen.Path != "/v1/messages" || seen.Method != "POST" {
			t.Errorf("%s: %s %s", name, seen.Method, seen.Path)
		}
		for k, want := range tc.want {
			if got := seen.Header.Get(k); got != want {
				t.Errorf("%s: %s is %q, want %q", name, k, got, want)
			}
		}
	}
}
