package providertest

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// said compares a model's text, without fields that a wire with payloads of its own adds to it.
func (w Wire) said() cmp.Option {
	return cmp.FilterPath(func(p cmp.Path) bool { return w.Keeps && p.Last().String() == ".Opaque" }, cmp.Ignore())
}

func testText(t *testing.T, w Wire) {
	b := newBench(t, w, Config{}, w.Build(Text("Hé", "llo ", "<&> 😀")))
	r, done := b.done(t, question())
	want := provider.Message{Role: provider.RoleAssistant, Provider: "bench", Model: "test-model",
		Parts: []provider.Part{provider.Text{Text: "Héllo <&> 😀"}}}
	if diff := cmp.Diff(want, done.Message, w.said()); diff != "" {
		t.Errorf("message (-want +got):\n%s", diff)
	}
	if done.Stop != provider.StopComplete || done.RequestID != "req_test" || done.Tries != 1 {
		t.Errorf("stop %s, request id %q, tries %d", done.Stop, done.RequestID, done.Tries)
	}
	if s, ok := r.Events[0].(provider.Started); !ok || s.Model != "test-model" || s.RequestID != "req_test" {
		t.Errorf("the first event is %#v", r.Events[0])
	}
	if len(r.Events) != 5 {
		t.Errorf("%d events, want Started, three deltas as they came, Done", len(r.Events))
	}
	seen := b.Requests()[0]
	if bytes.Contains(seen.Body, []byte(`\u003c`)) {
		t.Error("the request was encoded with HTML escapes")
	}
	if bytes.Contains(seen.Body, []byte("key-0123456789")) {
		t.Error("the key is in the body")
	}
}

// announced are the tools of the calls that a reply is built of, in order.
func announced(items []Item) (tools []string) {
	for _, it := range items {
		if it.kind == "call" {
			name, _, _ := strings.Cut(it.name, "<|")
			tools = append(tools, name)
		}
	}
	return tools
}

// announced are the tools of the calls that began on the way, in order.
func (r Result) announced() (tools []string) {
	seen := map[int]bool{}
	for _, e := range r.Events {
		if e, ok := e.(provider.CallDelta); ok && !seen[e.Call] {
			seen[e.Call] = true
			tools = append(tools, e.Tool)
		}
	}
	return tools
}

func testCalls(t *testing.T, w Wire) {
	tests := []struct {
		name  string
		items []Item
		want  []provider.Part
	}{
		{"one", []Item{Call("c1", "read", `{"path": "a b"}`)},
			[]provider.Part{call("c1", "read", `{"path":"a b"}`)}},
		{"after text", []Item{Text("I look."), Call("c1", "read", `{"path":"a"}`)},
			[]provider.Part{provider.Text{Text: "I look."}, call("c1", "read", `{"path":"a"}`)}},
		{"parallel", []Item{Call("c1", "read", `{"path":"a"}`), Call("c2", "read", `{"path":"b"}`),
			Call("c3", "mcp__db__list", `{}`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`), call("c2", "read", `{"path":"b"}`),
				call("c3", "mcp__db__list", `{}`)}},
		{"no arguments", []Item{Call("c1", "mcp__db__list", ``)}, []provider.Part{call("c1", "mcp__db__list", `{}`)}},
		{"encoded twice", []Item{Call("c1", "read", `"{\"path\":\"a\"}"`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`)}},
		{"no object", []Item{Call("c1", "read", `[1,2]`)},
			[]provider.Part{provider.ToolCall{ID: "c1", Name: "read", Input: []byte(`{}`), Raw: `[1,2]`}}},
		{"no JSON", []Item{Call("c1", "read", `{"path":"a`)},
			[]provider.Part{provider.ToolCall{ID: "c1", Name: "read", Input: []byte(`{}`), Raw: `{"path":"a`}}},
		{"without ids", []Item{Call("", "read", `{"path":"a"}`), Call("", "read", `{"path":"b"}`)},
			[]provider.Part{call("call_1", "read", `{"path":"a"}`), call("call_2", "read", `{"path":"b"}`)}},
		{"same id", []Item{Call("read", "read", `{"path":"a"}`), Call("read", "read", `{"path":"b"}`)},
			[]provider.Part{call("read", "read", `{"path":"a"}`), call("call_1", "read", `{"path":"b"}`)}},
		{"sent twice", []Item{Call("c1", "read", `{"path":"a"}`), Call("c1", "read", `{"path": "a"}`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`)}},
		{"sent twice without ids", []Item{Call("", "read", `{"path":"a"}`), Call("", "read", `{"path":"b"}`),
			Call("", "read", `{"path":"a"}`)},
			[]provider.Part{call("call_1", "read", `{"path":"a"}`), call("call_2", "read", `{"path":"b"}`)}},
		{"the same arguments in two calls", []Item{Call("c1", "read", `{"path":"a"}`), Call("c2", "read", `{"path":"a"}`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`), call("c2", "read", `{"path":"a"}`)}},
		{"tokens in the name", []Item{Call("c1", "read<|channel|>commentary", `{"path":"a"}`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`)}},
		{"two objects", []Item{Call("c1", "read", `{"path":"a"}{"path":"b"}{"path":"a"}`)},
			[]provider.Part{call("c1", "read", `{"path":"a"}`), call("call_1", "read", `{"path":"b"}`)}},
		{"an object and more", []Item{Call("c1", "read", `{"path":"a"} [1]`)},
			[]provider.Part{provider.ToolCall{ID: "c1", Name: "read", Input: []byte(`{}`), Raw: `{"path":"a"} [1]`}}},
		{"half a surrogate", []Item{Call("c1", "read", `{"path":"\ud83d\ude00 \ud83d"}`)},
			[]provider.Part{call("c1", "read", `{"path":"\ud83d\ude00 \ufffd"}`)}},
		{"stopped with the wrong word", []Item{Call("c1", "read", `{}`), Stop(aComplete(w))},
			[]provider.Part{call("c1", "read", `{}`)}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench(t, w, Config{}, w.Build(tc.items...))
			r, done := b.done(t, question())
			if diff := cmp.Diff(tc.want, done.Message.Parts, w.said()); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(announced(tc.items), r.announced()); diff != "" {
				t.Errorf("calls that were announced before the end (-want +got):\n%s", diff)
			}
			if done.Stop != provider.StopToolUse {
				t.Errorf("stop %s, want tool_use", done.Stop)
			}
		})
	}
	t.Run("ids are unique in the session", func(t *testing.T) {
		b := newBench(t, w, Config{}, w.Build(Call("read:0", "read", `{}`)), w.Build(Call("read:0", "read", `{}`)),
			w.Build(Text("ok")))
		req := question()
		for range 2 {
			_, done := b.done(t, req)
			req.Messages = append(req.Messages, done.Message, result(done.Message.Calls()[0], "x"))
		}
		b.done(t, req)
	})
}

func aComplete(w Wire) string {
	for word, stop := range w.Stops {
		if stop == provider.StopComplete {
			return word
		}
	}
	return ""
}

func call(id, name, input string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: name, Input: []byte(input)}
}

func testReasoning(t *testing.T, w Wire) {
	const thought = "I think\n\n \"therefore\" <I> am 😀"
	b := newBench(t, w, Config{},
		w.Build(Reason(thought[:9], thought[9:]), Call("c1", "read", `{"path":"a"}`)), w.Build(Text("ok")),
		w.Build(Text("ok")))
	req := question()
	r, done := b.done(t, req)
	if r.Reasoning != thought {
		t.Errorf("reasoning %q, want %q", r.Reasoning, thought)
	}
	if got, ok := done.Message.Parts[0].(provider.Reasoning); !ok || got.Text != thought {
		t.Errorf("the first part is %#v", done.Message.Parts[0])
	}
	req.Messages = append(req.Messages, done.Message, result(done.Message.Calls()[0], "x"))
	b.done(t, req)
	quoted := []byte(quote(thought))
	if got := bytes.Contains(b.Requests()[1].Body, quoted); got != w.EchoesReasoning {
		t.Errorf("the reasoning went back: %v, want %v", got, w.EchoesReasoning)
	}
	req.Model = "another-model"
	b.done(t, req)
	if bytes.Contains(b.Requests()[2].Body, quoted) || bytes.Contains(b.Requests()[2].Body, []byte("sig+/")) {
		t.Error("the reasoning went to another model")
	}
}

func testUsage(t *testing.T, w Wire) {
	want := provider.Usage{Input: 100, CacheRead: 2000, CacheWrite: 30, Output: 40, Reasoning: 7}
	b := newBench(t, w, Config{}, w.Build(Text("ok"), Usage(want)), w.Build(Text("ok"), NoUsage()))
	_, done := b.done(t, question())
	if w.Tells != nil {
		want = w.Tells(want)
	}
	if diff := cmp.Diff(want, done.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	_, done = b.done(t, question())
	if diff := cmp.Diff(provider.Usage{}, done.Usage); diff != "" {
		t.Errorf("a reply without usage (-want +got):\n%s", diff)
	}
}

func testStops(t *testing.T, w Wire) {
	for word, want := range w.Stops {
		t.Run(word, func(t *testing.T) {
			b := newBench(t, w, Config{}, w.Build(Text("some words"), Stop(word)))
			if _, done := b.done(t, question()); done.Stop != want {
				t.Errorf("stop %s, want %s", done.Stop, want)
			}
		})
		if want != provider.StopMaxTokens {
			continue
		}
		t.Run(word+" in a call", func(t *testing.T) {
			reply := w.Build(Call("c1", "read", `{}`), Call("c2", "read", `{"path":"a`), Stop(word))
			b := newBench(t, w, Config{}, reply)
			_, done := b.done(t, question())
			if done.Stop != provider.StopMaxTokens || len(done.Message.Calls()) != 2 {
				t.Errorf("stop %s with %d calls, want max_tokens with 2", done.Stop, len(done.Message.Calls()))
			}
		})
	}
}
