package providertest

import (
	"bytes"
	"regexp"
	"testing"

	"artoo/provider"
)

// itemID finds the ids of items of the Responses API.
var itemID = regexp.MustCompile(`"(rs|msg|fc)_[^"]*"`)

// TestSwitchingBetweenEachTwo takes a conversation from one wire to another, and back, after a step with reasoning and
// two calls on each. Each request must be one that the server takes; one model's reasoning, payloads and IDs do not
// reach the other, and come back to the first as they were.
func TestSwitchingBetweenEachTwo(t *testing.T) {
	t.Parallel()
	for _, from := range wires() {
		for _, to := range wires() {
			if from.name == to.name {
				continue
			}
			t.Run(from.name+" to "+to.name, func(t *testing.T) {
				req := question()
				sent := map[string][]byte{} // the last body by wire
				turn := func(s spoken, n int) {
					t.Helper()
					req.Model, req.Effort = s.model, provider.EffortHigh
					req.Messages = provider.Repair(req.Messages)
					body := encoded(t, s.Wire, s.name, req)
					if err := s.takes(body); err != nil {
						t.Errorf("step %d on %s: %v\n%.3000s", n, s.name, err, body)
					}
					checkSent(t, s, req.Messages, body)
					sent[s.name] = body
					m := s.reply(t, s.name, req, append([]Item{Reason("thought of ", s.name)}, step(n)[1:]...)...)
					req.Messages = append(req.Messages, m)
					for _, c := range m.Calls() {
						req.Messages = append(req.Messages, result(c, "here"))
					}
				}
				for n, s := range []spoken{from, from, to, to, from, to} {
					if n == 3 || n == 4 { // once in the middle of a loop, once after an answer
						req.Messages = append(req.Messages, provider.UserText("go on"))
					}
					turn(s, n)
				}
				for name, body := range sent {
					if n := bytes.Count(body, []byte("I look.")); n < 4 {
						t.Errorf("%s: only %d of the texts went along: %s", name, n, body)
					}
					for _, s := range []spoken{from, to} {
						there := bytes.Contains(body, []byte("thought of "+s.name)) ||
							bytes.Contains(body, []byte("sig+"+s.name+"/"))
						if there != (s.name == name) {
							t.Errorf("%s: the reasoning of %s is there: %v\n%s", name, s.name, there, body)
						}
					}
					if foreign := itemID.Find(body); foreign != nil && name != WireResponses {
						t.Errorf("%s: the item %s of another wire went along: %s", name, foreign, body)
					}
				}
			})
		}
	}
}
