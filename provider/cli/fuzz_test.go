package cli

import (
	"bytes"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/shell"
)

// FuzzEvents gives each tool's decoder any lines: nothing may panic, no text may be lost between the events and the
// message, and all output is valid text.
func FuzzEvents(f *testing.F) {
	f.Add(`{"type":"system","subtype":"init","session_id":"s","model":"m[1m]"}` + "\n" +
		`{"type":"result","subtype":"success","result":"x","modelUsage":{"a":{"inputTokens":1}}}`)
	f.Add(
		`{"type":"assistant","message":{"id":"a","content":[{"type":"text","text":"hi"},{"type":"tool_use","id":"1","name":"Bash","input":{"command":"ls"}}]}}` + "\n" + `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"1","is_error":true,"content":[{"text":"no"}]}]}}`)
	f.Add(`{"type":"stream_event","event":{"type":"content_block_delta","delta":{"text":"\ud800"}}}`)
	f.Add(`{"type":"thread.started","thread_id":"t"}` + "\n" +
		`{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"hi"}}` + "\n" +
		`{"type":"turn.completed","usage":{"input_tokens":-5}}`)
	f.Add(`{"type":"item.started","item":{"id":"1","type":"file_change","changes":[{"path":"","kind":""}]}}` +
		"\n" + `{"type":"error","message":"again"}` + "\n" + `{"type":"turn.failed"}`)
	f.Add(`{"type":"init","session_id":"g","model":"auto"}` + "\n" +
		`{"type":"message","role":"assistant","content":"hi","delta":true}` + "\n" +
		`{"type":"result","status":"error","error":{"message":"[API Error: }{"}}`)
	f.Fuzz(func(t *testing.T, lines string) {
		for _, name := range []string{ClaudeName, CodexName, GeminiName} {
			shown, last := "", ""
			r := &run{CLI: &CLI{Name: name, Trace: func(string, string) {}}, dialect: dialects[name],
				noise: shell.NewSpool(mostNoise)}
			r.reply = &reply{send: func(e provider.Event) {
				switch e := e.(type) {
				case provider.TextDelta:
					shown, last = shown+e.Text, last+e.Text
				case provider.Step:
					last = ""
					if strings.Contains(e.Text, "\n") {
						t.Errorf("%s: a step of several lines: %q", name, e.Text)
					}
				}
			}}
			event := r.events()
			for line := range strings.Lines(lines) {
				e := provider.AsError(r.take(event, bytes.TrimSpace([]byte(line))))
				if e != nil && e.Kind == "" {
					t.Error("an error without a kind")
				}
			}
			if shown != strings.ToValidUTF8(shown, "") || string(r.reply.text) != last {
				t.Errorf("%s: shown %q, kept %q of %q", name, shown, r.reply.text, last)
			}
			r.reply.finish()
			if _, err := provider.Marshal(r.reply.message(name, "m", r.sessionAfter().part())); err != nil {
				t.Error(err)
			}
			if provider.AsError(r.failed(r.reply.failure, "")).Kind == "" {
				t.Error("a failure without a kind")
			}
		}
	})
}

// must fails the test where something that it only needs did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
