package providertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// marks are the words in the event with the reason for a reply's end, and in its last event; "" where there is none.
func marks(name string) (reason, last string) {
	switch name {
	case WireAnthropic:
		return "message_delta", "message_stop"
	case WireChat:
		return `"finish_reason":"`, "[DONE]"
	case WireResponses:
		return "", "response.completed"
	case WireGemini:
		return "finishReason", ""
	case WireConverse:
		return "messageStop", "metadata"
	default:
		return "", `"done":true`
	}
}

// without leaves out the events with a word; "" leaves out none.
func (r Reply) without(word string) Reply {
	var body strings.Builder
	for _, event := range r.split() {
		if word == "" || !strings.Contains(event, word) {
			body.WriteString(event)
		}
	}
	r.Body = []byte(body.String())
	return r
}

// over adds [DONE], which no stream of frames can have.
func (r Reply) over() Reply {
	switch r.ContentType {
	case frames:
	case lines:
		r.Body = append(r.Body, "[DONE]\n"...)
	default:
		r.Body = append(r.Body, "data: [DONE]\n\n"...)
	}
	return r
}

// ending is a reply with an end that servers and gateways write.
type ending struct {
	Reply
	whole bool
}

func endings(w spoken) map[string]ending {
	reason, last := marks(w.name)
	text, call := w.Build(Text("Hel", "lo")), w.Build(Call("c1", "read", `{"path":"a"}`))
	two := w.Build(Text("Hello"), Call("c1", "read", `{"path":"a"}`), Call("c2", "read", `{"path":"b"}`))
	unmarked := func(r Reply) Reply { return r.without(reason).without(last) }
	noReason := func(r Reply) Reply {
		if w.name == WireGemini {
			return r.replace(`"finishReason":"STOP",`, "")
		}
		if r = r.without(reason); reason == "" {
			r = r.without(last).over()
		}
		return r
	}
	noLast := func(r Reply) Reply {
		if reason != "" {
			return r.without(last)
		}
		return r.without(last).over()
	}
	crlf, bare := text, text
	if text.ContentType != frames {
		crlf.Body = []byte(strings.ReplaceAll(string(text.Body), "\n", "\r\n"))
		bare.Body = []byte(strings.TrimRight(string(text.Body), "\n"))
	}
	all := map[string]ending{
		"both marks": {text, true}, "a call, both marks": {call, true}, "carriage returns": {crlf, true},
		"no blank line at the end": {bare, true}, "byte by byte": {text.InChunks(1), true},
		"reset behind it":    {text.Ends(Reset), true},
		"too large a length": {text.With("Content-Length", fmt.Sprint(len(text.Body)+100)), true},
		"text, no last mark": {noLast(text), true}, "a call, no last mark": {noLast(call), true},
		"two calls, no last mark": {noLast(two), true},
		"text, no reason":         {noReason(text), true}, "a call, no reason": {noReason(call), true},
		"two calls, no reason": {noReason(two), true},
		"no marks, text":       {unmarked(text), false}, "no marks, reset": {unmarked(text).Ends(Reset), false},
		"no marks, a call":          {unmarked(w.Build(Call("c1", "read", `{"path":"a"}`), NoUsage())), false},
		"an error in the middle":    {text.Break(3, "overloaded_error", "busy"), false},
		"an error, then [DONE]":     {text.Break(3, "overloaded_error", "busy").over(), false},
		"reasoning alone, [DONE]":   {unmarked(w.Build(Reason("hm"), NoUsage())).over(), false},
		"nothing but the beginning": {text.Events(1).over(), false},
	}
	if !lined(w.Wire) && w.name != WireGemini { // there calls come whole
		n := 1 + slices.IndexFunc(call.split(), func(event string) bool { return strings.Contains(event, "path") })
		all["cut in the arguments, [DONE]"] = ending{call.Events(n).over(), false}
		tail := call.split()
		cut := call.Events(n)
		cut.Body = append(cut.Body, tail[len(tail)-1]...)
		if w.name != WireResponses { // its last event holds the whole reply
			all["cut in the arguments, the last mark"] = ending{cut, false}
		}
	}
	return all
}

// TestAReplyEndsWithOneMark: a whole reply is taken even where a mark is missing; one that was cut is worth another try.
func TestAReplyEndsWithOneMark(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		for name, end := range endings(w) {
			t.Run(w.name+"/"+name, func(t *testing.T) {
				r := Collect(newBench(t, w.Wire, Config{}, end.Reply).provider.Stream(t.Context(), question()))
				if e := provider.AsError(r.Err); end.whole && e != nil || !end.whole && (e == nil || !e.Temporary()) {
					t.Fatalf("whole: %v, but %v:\n%s", end.whole, r.Err, end.Body)
				}
				if end.whole && r.Done.Message.Text() != "Hello" && len(r.Done.Message.Calls()) == 0 {
					t.Errorf("%+v", r.Done.Message)
				}
			})
		}
	}
}

// TestTwoEqualCutsNameTheMissingMark, since the network does not cut a reply twice at the same place.
func TestTwoEqualCutsNameTheMissingMark(t *testing.T) {
	t.Parallel()
	for _, w := range wires() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			reason, last := marks(w.name)
			cut := w.Build(Text("Hello")).without(reason).without(last)
			b := newBench(t, w.Wire, Config{}, cut, cut)
			b.provider = &provider.Retrier{Provider: b.provider, Rand: func() float64 { return 1 }}
			e := provider.AsError(Collect(b.provider.Stream(t.Context(), question())).Err)
			if e == nil || e.Kind != provider.KindProvider || e.Missing == "" || !strings.Contains(e.Message, e.Missing) ||
				!strings.Contains(e.Hint, e.Missing) || !strings.Contains(e.Hint, "or -v to see") || strings.Contains(e.Hint, "network") || len(b.Requests()) != 2 {
				t.Errorf("%+v after %d requests", e, len(b.Requests()))
			}
		})
	}
}
