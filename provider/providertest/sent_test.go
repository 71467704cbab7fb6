package providertest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"artoo/provider"
)

// sentID finds the ids by which calls and results are joined, in any wire's body.
var sentID = regexp.MustCompile(`"(?:id|tool_use_id|call_id|tool_call_id)":("(?:[^"\\]|\\.)*")`)

// takenID matches IDs that every API takes. A server takes its own back,
// whatever they are.
var takenID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// checkSent checks facts of a body that its server cannot know: that all words are there, and that other servers' IDs
// fit.
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
}
