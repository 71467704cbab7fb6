package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
)

// thoughtOf is reasoning as the server gave it: an item with the given content,
// its fields in front of it.
func thoughtOf(id, fields string) provider.Reasoning {
	return provider.Reasoning{Form: formItem, Opaque: `{"id":"` + id + `","type":"reasoning",` +
		fields + `"summary":[],"encrypted_content":"e-` + id + `"}`}
}

func ownCall(id, item string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: "read", Input: json.RawMessage(`{}`), Opaque: `{"id":"` + item + `"}`}
}

// TestReasoningGoesBackWithoutItsStatus: servers write fields into an item that they refuse to read there.
func TestReasoningGoesBackWithoutItsStatus(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		`"status":"completed",`:            ``,
		`"status":null, "content" : null,`: ``,
		`"content":[],"novelty":{"status":"x","of":[1,"}"]},"status":"incomplete",`: `"content":[],"novelty":{"status":"x","of":[1,"}"]},`,
	} {
		body := encoded(t, asked("gpt-5.6-sol", said(thoughtOf("rs_1", fields), ownCall("c1", "fc_1"))...))
		if item := `{"id":"rs_1","type":"reasoning",` + want +
			`"summary":[],"encrypted_content":"e-rs_1"}`; !strings.Contains(body, item) {
			t.Errorf("want the item %s in\n%s", item, body)
		}
	}
}

// TestNoItemIDGoesTwice: a server refuses the second item of an id. Some give
// the same ids in each reply, and a history may hold a message twice.
func TestNoItemIDGoesTwice(t *testing.T) {
	t.Parallel()
	history := append(said(thoughtOf("rs_0", ""),
		provider.Text{Text: "first", Opaque: `{"id":"msg_1","phase":"commentary"}`}, ownCall("c1", "fc_2")),
		said(thoughtOf("rs_0", ""), ownCall("c2", "fc_3"))...)
	history = append(history, said(provider.Text{Text: "third", Opaque: `{"id":"msg_1","phase":"final_answer"}`})...)
	history = append(history, said(thoughtOf("rs_4", ""), provider.Text{Text: "fourth", Opaque: `{"id":"msg_4"}`})...)
	body := encoded(t, asked("gpt-5.6-sol", history...))
	for _, id := range []string{"rs_0", "msg_1", "fc_2", "rs_4", "msg_4"} {
		if n := strings.Count(body, `"id":"`+id+`"`); n != 1 {
			t.Errorf("%s is there %d times", id, n)
		}
	}
	if n := strings.Count(body, "e-rs_0"); n != 1 {
		t.Errorf("the reasoning of one id is there %d times, and the schema has none without an id", n)
	}
	if strings.Contains(body, "fc_3") {
		t.Errorf("a call keeps an id by which the server would look for reasoning that has none")
	}
	for _, words := range []string{`{"type":"function_call","call_id":"c2"`, `"phase":"final_answer","content":"third"`} {
		if !strings.Contains(body, words) {
			t.Errorf("%s is lost:\n%s", words, body)
		}
	}
}

// TestAHistoryThatIsRefused: items of its own that a server refuses are dropped, and the conversation goes on; later
// ones go back as usual.
func TestAHistoryThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		refused []providertest.Reply
		ids     bool // IDs of items are still sent at last
		thought bool // goes along at last
		told    bool
	}{
		{"of another key", []providertest.Reply{providertest.JSON(400,
			`{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`)}, false, false, true},
		{"of another key, said in the stream", []providertest.Reply{providertest.Responses().Break(1,
			"invalid_encrypted_content", "The encrypted content for item rs_1 could not be verified.")}, false, false, true},
		{"reasoning without what it led to", []providertest.Reply{providertest.Fail(400, "invalid_request_error",
			"Item 'rs_1' of type 'reasoning' was provided without its required following item.")}, false, false, true},
		{"a call without its reasoning", []providertest.Reply{providertest.Fail(400, "invalid_request_error",
			"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.")},
			false, false, true},
		{"not stored", []providertest.Reply{providertest.Fail(http.StatusNotFound, "invalid_request_error",
			"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.")}, false, true, false},
		{"twice there, it says", []providertest.Reply{providertest.Fail(400, "invalid_request_error",
			"Duplicate item found with id msg_1. Remove duplicate items from your input and try again.")}, false,
			true, false},
		{"not stored, and not readable", []providertest.Reply{
			providertest.Fail(http.StatusNotFound, "invalid_request_error", "Item with id 'rs_1' not found."),
			providertest.Fail(http.StatusNotFound, "invalid_request_error", "Item with id 'rs_1' not found.")},
			false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := providertest.NewServer(t, append(tc.refused, providertest.Responses(providertest.Text("ok")),
				providertest.Responses(providertest.Text("ok")))...)
			p := &Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
			req := asked("gpt-5.6-sol", said(thoughtOf("rs_1", ""),
				provider.Text{Text: "x", Opaque: `{"id":"msg_1","phase":"commentary"}`}, ownCall("c1", "fc_1"))...)
			r := providertest.Collect(p.Stream(t.Context(), req))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			told := slices.ContainsFunc(r.Events,
				func(e provider.Event) bool { n, ok := e.(provider.Notice); return ok && n.Warning })
			if told != tc.told {
				t.Errorf("told %v, want %v", told, tc.told)
			}
			seen := s.Requests()
			last := string(seen[len(seen)-1].Body)
			if got := strings.Contains(last, `"id":`); got != tc.ids {
				t.Errorf("ids of items go along: %v\n%s", got, last)
			}
			if got := strings.Contains(last, "e-rs_1"); got != tc.thought {
				t.Errorf("the reasoning goes along: %v\n%s", got, last)
			}
			if !strings.Contains(last, `"phase":"commentary"`) || !strings.Contains(last, `"call_id":"c1"`) {
				t.Errorf("more was given up than was refused: %s", last)
			}
			req.Messages = append(req.Messages, said(thoughtOf("rs_2", ""), provider.Text{Text: "y"})[1:]...)
			if r := providertest.Collect(p.Stream(t.Context(), req)); r.Err != nil {
				t.Fatal(r.Err)
			}
			seen = s.Requests()
			if len(seen) != len(tc.refused)+2 {
				t.Errorf("%d requests, want %d: what is known is tried again", len(seen), len(tc.refused)+2)
			}
			if last = string(seen[len(seen)-1].Body); !strings.Contains(last, "e-rs_2") {
				t.Errorf("new reasoning does not go back: %s", last)
			}
			for i, req := range seen {
				if err := providertest.Validate(providertest.WireResponses, req.Body); err != nil {
					t.Errorf("request %d: %v", i, err)
				}
			}
		})
	}
	t.Run("for ever", func(t *testing.T) {
		refused := providertest.Fail(400, "invalid_request_error", "The encrypted content could not be verified.")
		s := providertest.NewServer(t, refused, refused, refused)
		p := &Responses{Server: provider.Server{Name: "openai", BaseURL: s.URL, HTTP: s.HTTP}}
		r := providertest.Collect(p.Stream(t.Context(),
			asked("gpt-5.6-sol", said(thoughtOf("rs_1", ""), ownCall("c1", "fc_1"))...)))
		if e := provider.AsError(r.Err); e == nil || e.Kind != provider.KindInvalid || len(s.Requests()) != 2 {
			t.Errorf("%v after %d requests, want the refusal after 2", r.Err, len(s.Requests()))
		}
	})
}
