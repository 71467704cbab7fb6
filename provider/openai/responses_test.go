package openai_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

// TestWhoSpeaksResponses: OpenAI does, and servers configured so.
func TestWhoSpeaksResponses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"":                               "https://api.openai.com/v1/responses",
		"https://api.openai.com/v1":      "https://api.openai.com/v1/responses",
		"https://API.openai.com/v1/":     "https://api.openai.com/v1/responses",
		"https://eu.api.openai.com/v1":   "https://eu.api.openai.com/v1/responses",
		"https://h.example/v1/responses": "https://h.example/v1/responses",
		"https://h.example/v1":           "",
		"http://localhost:8080/v1":       "",
		"https://api.openai.com.example": "",
		"https://xapi.openai.com":        "",
		"http://\x7f":                    "",
	} {
		if got := openai.SpeaksResponses(address); got != (want != "") {
			t.Errorf("%q: %v", address, got)
		}
		if want == "" {
			continue
		}
		sent, auth := "", ""
		p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: address,
			Headers: map[string]string{"OpenAI-Project": "p1"}, Key: func(context.Context) (string,
				error) {
				return "k", nil
			}, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				sent, auth = r.URL.String(), r.Header.Get("Authorization")+" "+r.Header.Get("OpenAI-Project")
				return nil, errors.New("not sent")
			})}}}
		for _, err := range p.Stream(t.Context(), provider.Request{Messages: []provider.Message{provider.UserText("hi")}}) {
			if err == nil {
				t.Error("an event without a connection")
			}
		}
		if strings.ToLower(sent) != want || auth != "Bearer k p1" {
			t.Errorf("%q: sent to %s as %q, want %s", address, sent, auth, want)
		}
	}
}

// TestWhatAMessageKeeps: the ids and phases of its items, and reasoning as it
// was when it was done, not as it began and not as the last event repeats it.
func TestWhatAMessageKeeps(t *testing.T) {
	t.Parallel()
	const done = `{"type":"reasoning", "id":"rs_1","encrypted_content":"whole+/=","summary":[{"type":"summary_text","text":"One."},{"type":"summary_text","text":"Two."}]}`
	r := askOpenAI(t, respond(begun,
		`output_item.added ,"output_index":0,"item":{"type":"reasoning","id":"rs_1","encrypted_content":"part","summary":[]}`,
		`reasoning_summary_part.added ,"output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`,
		`reasoning_summary_text.delta ,"output_index":0,"summary_index":0,"delta":"One."`,
		`reasoning_summary_text.delta ,"output_index":0,"summary_index":1,"delta":"Two."`,
		`output_item.done ,"output_index":0,"item":`+done,
		`output_item.added ,"output_index":1,"item":{"type":"message","id":"msg_1","phase":"commentary","role":"assistant","content":[]}`,
		`content_part.added ,"output_index":1,"content_index":0,"part":{"type":"output_text","text":""}`,
		`output_text.delta ,"output_index":1,"content_index":0,"delta":"I lo"`,
		`output_item.done ,"output_index":1,"item":{"type":"message","id":"msg_1","phase":"commentary","content":[{"type":"output_text","text":"I look."}]}`,
		fcAdded(2, "call_1"), fcDelta(2, "{}"),
		`completed ,"response":{"status":"completed","output":[{"type":"reasoning","id":"rs_1","encrypted_content":"other","summary":[]},{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"I look."}]},{"type":"function_call","id":"fc_2","call_id":"call_1","name":"read","arguments":"{}"}]}`))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []provider.Part{
		provider.Reasoning{Text: "One.\n\nTwo.", Form: "reasoning_item", Opaque: done},
		provider.Text{Text: "I look.", Opaque: `{"id":"msg_1","phase":"commentary"}`},
		provider.ToolCall{ID: "call_1", Name: "read", Input: []byte(`{}`), Opaque: `{"id":"fc_2"}`},
	}
	if fmt.Sprintf("%q", r.Done.Message.Parts) != fmt.Sprintf("%q", want) || r.Reasoning != "One.\n\nTwo." {
		t.Errorf("%q\nwant %q", r.Done.Message.Parts, want)
	}
}

// TestMessagesOfOneReplyStandApart: the model's comment on its way and its answer are two items, which must not run
// into each other. The server gets them back as it sent them.
func TestMessagesOfOneReplyStandApart(t *testing.T) {
	t.Parallel()
	message := func(n int, phase, text string) []string {
		return []string{
			fmt.Sprintf(
				`output_item.added ,"output_index":%d,"item":{"type":"message","id":"msg_%d","phase":%q,"content":[]}`,
				n, n, phase),
			fmt.Sprintf(`output_text.delta ,"output_index":%d,"item_id":"msg_%d","content_index":0,"delta":%q`,
				n, n, text[:1]),
			fmt.Sprintf(`output_text.delta ,"output_index":%d,"item_id":"msg_%d","content_index":0,"delta":%q`,
				n, n, text[1:]),
			fmt.Sprintf(
				`output_item.done ,"output_index":%d,"item":{"type":"message","id":"msg_%d","phase":%q,"content":[{"type":"output_text","text":%q}]}`, n, n, phase, text),
		}
	}
	for want, texts := range map[string][2]string{
		"I look.\n\nSo it is.":       {"I look.", "So it is."},
		"I look.\nSo it is.":         {"I look.\n", "So it is."},
		"I look.\n\n- So it is.":     {"I look.", "\n\n- So it is."},
		"I look.\n\nIt is.\n\nDone.": {"I look.", "It is.\n\nDone."},
	} {
		events := append(append([]string{begun}, message(0, "commentary", texts[0])...),
			message(1, "final_answer", texts[1])...)
		first := respond(append(events, completed)...)
		s := providertest.NewServer(t, first, providertest.Responses(providertest.Text("ok")))
		p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
		req := provider.Request{Options: provider.Options{Model: "gpt-5.6-sol"},
			Messages: []provider.Message{provider.UserText("hi")}}
		r := providertest.Collect(p.Stream(t.Context(), req))
		if r.Err != nil || r.Text != want || r.Done.Message.Text() != want {
			t.Fatalf("%q, kept as %q, %v, want %q", r.Text, r.Done.Message.Text(), r.Err, want)
		}
		req.Messages = append(req.Messages, r.Done.Message, provider.UserText("and?"))
		if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
			t.Fatal(r.Err)
		}
		for _, text := range texts {
			if body := s.Requests()[1].Body; !bytes.Contains(body,
				fmt.Appendf(nil, `"content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%q}]`, text)) {
				t.Errorf("%q does not go back as it came: %s", text, body)
			}
		}
	}
}

// TestTextComesOnce, wherever in the reply it is.
func TestTextComesOnce(t *testing.T) {
	t.Parallel()
	item := `"item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"Hello, "},{"type":"output_text","text":"you."}]}`
	output := strings.TrimPrefix(item, `"item":`)
	last := `completed ,"response":{"status":"completed","output":[` + output + `]}`
	delta := `output_text.delta ,"item_id":"msg_1","delta":"Hello, you."`
	for name, events := range map[string][]string{
		"pieces": {delta, completed},
		"pieces and all the rest": {`output_item.added ,"item":{"type":"message","id":"msg_1","content":[]}`,
			delta, `output_text.done ,"item_id":"msg_1","text":"Hello, you."`, `output_item.done ,` + item, last},
		"only when a part is done":   {`output_text.done ,"item_id":"msg_1","text":"Hello, you."`, completed},
		"only when the item is done": {`output_item.done ,` + item, last},
		"only at the end":            {last},
		"under another id":           {strings.Replace(delta, "msg_1", "msg_9", 1), last},
	} {
		r := askOpenAI(t, respond(append([]string{begun}, events...)...))
		if r.Err != nil || r.Text != "Hello, you." || r.Done.Message.Text() != r.Text {
			t.Errorf("%s: %q %v", name, r.Text, r.Err)
		}
	}
	if r := askOpenAI(t, providertest.JSON(200, `{"object":"response","model":"m","status":"completed","output":[`+
		output+`]}`)); r.Text != "Hello, you." {
		t.Errorf("as one document: %q %v", r.Text, r.Err)
	}
}

// TestWhatWasNotAskedFor: the server's own tools are reported, and a reply that
// holds nothing else is no answer.
func TestWhatWasNotAskedFor(t *testing.T) {
	t.Parallel()
	item := func(rest string) string { return `output_item.done ,"item":{` + rest + `}` }
	search, text := item(`"type":"web_search_call","id":"ws_1"`),
		item(`"type":"message","id":"msg_1","content":[{"type":"output_text","text":"x"}]`)
	custom := item(`"type":"custom_tool_call","id":"ctc_1","call_id":"c1","name":"write_sql","input":"select 1"`)
	notices := func(r providertest.Result) (list []string) {
		for _, ev := range r.Events {
			if n, ok := ev.(provider.Notice); ok {
				list = append(list, n.Text)
			}
		}
		return list
	}
	if r := askOpenAI(t, respond(begun, search, search, text, completed)); r.Text != "x" || len(notices(r)) != 1 ||
		!strings.Contains(notices(r)[0], "web_search_call") {
		t.Errorf("%q %q %v", r.Text, notices(r), r.Err)
	}
	if e := provider.AsError(askOpenAI(t, respond(begun, search, completed)).Err); e == nil || e.Temporary() ||
		!strings.Contains(e.Message, "web_search_call") {
		t.Errorf("nothing else: %v, want a final error", e)
	}
	wantParts(t, askOpenAI(t, respond(begun, custom, completed)),
		provider.ToolCall{ID: "c1", Name: "write_sql", Input: []byte(`{}`), Raw: "select 1"})
	if r := askOpenAI(t, respond(begun, custom, text, completed)); r.Err != nil || len(r.Done.Message.Calls()) != 0 ||
		len(notices(r)) != 1 {
		t.Errorf("a call that the server ran itself: %v %q", r.Err, notices(r))
	}
}

// TestALongSession: the requests of a long session with reasoning and calls
// are each a prefix of the next, all good, and grow by the same for each turn.
func TestALongSession(t *testing.T) {
	t.Parallel()
	const turns = 80
	s := providertest.Serve(t, &providertest.Handler{Next: func(n int, _ providertest.Request) providertest.Reply {
		return providertest.Responses(providertest.Reason("Let me see."), providertest.Text("I look."),
			providertest.Call(fmt.Sprintf("call_%03d", 2*n), "read", `{"path":"a"}`),
			providertest.Call(fmt.Sprintf("call_%03d", 2*n+1), "read", `{"path":"b"}`))
	}})
	p := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
	req := provider.Request{Options: provider.Options{Model: "gpt-5.6-sol", Effort: provider.EffortHigh},
		System: "Be brief.", SessionID: "s",
		Messages: []provider.Message{provider.UserText("go")}}
	for range turns {
		r := providertest.Collect(p.Stream(t.Context(), req))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		req.Messages = append(req.Messages, r.Done.Message)
		for _, c := range r.Done.Message.Calls() {
			req.Messages = append(req.Messages, provider.Message{Role: provider.RoleTool,
				Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Text: "x"}}})
		}
	}
	seen := s.Requests()
	growth := len(seen[1].Body) - len(seen[0].Body)
	for i := 1; i < turns; i++ {
		before, now := bytes.TrimSuffix(seen[i-1].Body, []byte("]}")), seen[i].Body
		if !bytes.HasPrefix(now, before) || len(now)-len(seen[i-1].Body) != growth {
			t.Fatalf("request %d is no prefix of the next, or that grew by %d, not %d:\n%.2000s",
				i-1, len(now)-len(seen[i-1].Body), growth, now)
		}
	}
	if err := providertest.Validate(providertest.WireResponses, seen[turns-1].Body); err != nil {
		t.Error(err)
	}
	if n := bytes.Count(seen[turns-1].Body, []byte(`"encrypted_content":"sig+/0=="`)); n != turns-1 {
		t.Errorf("the reasoning of %d turns went back, want %d", n, turns-1)
	}
}

// TestAHistoryOfChat: a session of Chat Completions continues through Responses, and vice versa.
func TestAHistoryOfChat(t *testing.T) {
	t.Parallel()
	s := providertest.NewServer(t, providertest.Chat(providertest.Reason("hm"), providertest.Call("call_1", "read", `{}`)),
		providertest.Responses(providertest.Reason("hm"), providertest.Text("ok"),
			providertest.Call("call_2", "read", `{}`)),
		providertest.Chat(providertest.Text("done")))
	chat := &openai.Chat{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP},
		Quirks: openai.QuirksFor("openai")}
	responses := &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
	req := provider.Request{Options: provider.Options{Model: "gpt-5.6-sol"},
		Messages: []provider.Message{provider.UserText("go")}}
	for i, p := range []provider.Provider{chat, responses, chat} {
		r := providertest.Collect(p.Stream(t.Context(), req))
		if r.Err != nil {
			t.Fatal(r.Err)
		}
		wire := []string{providertest.WireChat, providertest.WireResponses, providertest.WireChat}[i]
		if err := providertest.Validate(wire, s.Requests()[i].Body); err != nil {
			t.Errorf("request %d: %v\n%s", i, err, s.Requests()[i].Body)
		}
		req.Messages = append(req.Messages, r.Done.Message)
		for _, c := range r.Done.Message.Calls() {
			req.Messages = append(req.Messages, provider.Message{Role: provider.RoleTool,
				Parts: []provider.Part{provider.ToolResult{CallID: c.ID, Text: "x"}}})
		}
	}
	if body := s.Requests()[2].Body; bytes.Contains(body, []byte("encrypted")) || bytes.Contains(body, []byte("msg_")) {
		t.Errorf("payloads of the one wire went through the other: %s", body)
	}
}
