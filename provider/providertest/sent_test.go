package providertest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// sentID finds the ids by which calls and results are joined, in any wire's body.
var sentID = regexp.MustCompile(`"(?:id|tool_use_id|call_id|tool_call_id)":("(?:[^"\\]|\\.)*")`)

// takenID is what every API takes for an id. A server takes its own back,
// whatever they are.
var takenID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkSent checks of a body what its server could only know from outside of it:
// that all words are there, that ids which others made fit, and what its model,
// one that reasons, demands.
func checkSent(t *testing.T, s spoken, messages []provider.Message, body []byte) {
	t.Helper()
	own := map[string]bool{}
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				own[p.ID] = own[p.ID] || m.Provider == s.name
			case provider.Text:
				words, err := provider.Marshal(strings.ToValidUTF8(p.Text, "\uFFFD"))
				if err != nil {
					t.Fatal(err)
				}
				if strings.TrimSpace(p.Text) != "" && !bytes.Contains(body, words[1:len(words)-1]) {
					t.Errorf("%s: %s is not there", s.name, words)
				}
			}
		}
	}
	for _, m := range sentID.FindAllSubmatch(body, -1) {
		var id string
		if err := json.Unmarshal(m[1], &id); err != nil || !own[id] && !takenID.MatchString(id) {
			t.Errorf("%s: the id %q of elsewhere went along (%v)", s.name, id, err)
		}
	}
	if s.name == WireGemini {
		checkSigned(t, body)
	}
}

// checkSigned checks what Gemini 3 demands: in the turn that is under way the
// first call of each step carries a signature.
func checkSigned(t *testing.T, body []byte) {
	t.Helper()
	var b geminiBody
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	begin := 0
	for i, c := range b.Contents {
		if c.Role == "user" && slices.ContainsFunc(c.Parts, func(p geminiPart) bool { return p.Response == nil }) {
			begin = i
		}
	}
	for i, c := range b.Contents[begin:] {
		first := slices.IndexFunc(c.Parts, func(p geminiPart) bool { return p.Call != nil })
		if first >= 0 && c.Parts[first].Signature == "" {
			t.Errorf("content %d: function call is missing a thought_signature", begin+i)
		}
	}
}
