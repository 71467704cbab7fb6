package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

// TestWhatIsInAStrangePlaceIsFound: calls in a second choice, numbers that JSON does
// not have, reasoning in the answer.
func TestWhatIsInAStrangePlaceIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		deltas []string
		want   []provider.Part
	}{
		"calls in the second choice": {[]string{`{"content":"I look."}`, stop,
			`!{"choices":[{"index":1,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}}]}`,
			`!{"choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}`, done},
			[]provider.Part{provider.Text{Text: "I look."}, call("a", "{}")}},
		"both in one event": {[]string{
			`!{"choices":[{"index":0,"delta":{"content":"I look."},"finish_reason":"tool_calls"},{"index":1,"delta":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}}]}}]}`,
			done}, []provider.Part{provider.Text{Text: "I look."}, call("a", "{}")}},
		"a document": {[]string{`!{"choices":[{"index":0,"message":{"content":"I look."},"finish_reason":"stop"},{"index":1,"message":{"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}}]}}]}`,
			done}, []provider.Part{provider.Text{Text: "I look."}, call("a", "{}")}},
		"the text of another choice": {[]string{`{"content":"x"}`, `!{"choices":[{"index":1,"delta":{"content":"y"}}]}`, stop, done},
			[]provider.Part{provider.Text{Text: "x"}}},
		"no number": {[]string{
			`!{"choices":[{"index":0,"delta":{"content":"NaN \"Infinity"},"logprobs":{"a":NaN,"b":[-Infinity,Infinity]}}]}`,
			stop, done}, []provider.Part{provider.Text{Text: `NaN "Infinity`}}},
		"reasoning in the answer": {[]string{`{"content":"<thi"}`, `{"content":"nk>hm"}`, `{"content":" hm</think"}`,
			`{"content":">\n\nYes"}`, `{"content":"."}`, stop, done},
			[]provider.Part{provider.Reasoning{Text: "hm hm", Form: "thinking"}, provider.Text{Text: "Yes."}}},
		"half a mark": {[]string{`{"content":"<thi"}`, stop, done}, []provider.Part{provider.Text{Text: "<thi"}}},
		"half a mark and no word for the end": {[]string{`{"content":"<thi"}`,
			`!{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2}}`, done},
			[]provider.Part{provider.Text{Text: "<thi"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(t, "compatible", stream(tc.deltas...))
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(tc.want, r.Done.Message.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
			if r.Text != r.Done.Message.Text() {
				t.Errorf("shown %q, kept %q", r.Text, r.Done.Message.Text())
			}
		})
	}
}
