package headless

import (
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
)

// The hint of a run in which no one could answer names what would allow the first call
// that was refused.
func TestTheHintNamesWhatWouldAllowTheCall(t *testing.T) {
	own := agent.Denial{Rule: "bash(make)", Nobody: true, Code: permission.OwnPrograms}
	other := agent.Denial{Rule: "write(x)", Nobody: true}
	said := agent.Denial{Rule: "bash(make)", Code: permission.OwnPrograms}
	for _, test := range []struct {
		denied []agent.Denial
		want   string
	}{
		{[]agent.Denial{own, other}, "artoo trust --run"}, {[]agent.Denial{said, other, own}, "--allow 'write(x)'"},
	} {
		if got := unanswered(test.denied); got == nil || got.Hint != test.want {
			t.Errorf("%+v, want %q", got, test.want)
		}
	}
}
