package agent_test

import (
	"testing"

	"artoo/provider"
	"artoo/provider/fake"
)

// TestAPausedReplyIsSentBackUnchanged, as the end of the next request: a word of
// the user's behind it would be another turn. The reply to it ends as usual.
func TestAPausedReplyIsSentBackUnchanged(t *testing.T) {
	t.Parallel()
	pause := fake.Say("working")
	pause.Stop = provider.StopPause
	p := &fake.Provider{Steps: []fake.Step{pause, fake.Say("done"), fake.Say("more")}, Lenient: true}
	a := newAgent(p)
	for _, text := range []string{"go", "and now"} {
		mustSend(t, a, &recorder{}, text)
	}
	requests := p.Requests()
	sent := requests[1].Messages
	if last := sent[len(sent)-1]; len(sent) != 2 || last.Role != provider.RoleAssistant || last.Text() != "working" {
		t.Errorf("after the pause was sent %+v", sent)
	}
	after := requests[2].Messages
	if last := after[len(after)-1]; last.Text() != "and now" {
		t.Errorf("the next message is sent as %+v", after)
	}
}
