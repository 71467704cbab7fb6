package headless

import (
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
)

// The hint of a run in which no one could answer names a way to allow each refused call,
// in commands that work unchanged.
func TestTheHintNamesWhatWouldAllowTheCalls(t *testing.T) {
	t.Parallel()
	own := agent.Denial{Rule: "bash(make)", Nobody: true, Code: permission.OwnPrograms}
	other := agent.Denial{Rule: "write(x)", Nobody: true}
	another := agent.Denial{Rule: "bash(it's)", Nobody: true}
	asks := agent.Denial{Rule: "bash(ls)", Nobody: true, Code: permission.RuleAsks}
	lines := agent.Denial{Rule: "bash(a\nb)", Nobody: true}
	none := agent.Denial{Nobody: true}
	said := agent.Denial{Rule: "bash(make)", Code: permission.OwnPrograms}
	for _, test := range []struct {
		denied []agent.Denial
		want   string
	}{
		{[]agent.Denial{own, other, own}, "artoo trust --run --yes; artoo --allow 'write(x)'"},
		{[]agent.Denial{said, other, other, another}, `artoo --allow 'write(x)' --allow 'bash(it'\''s)'`},
		{[]agent.Denial{none, asks, lines}, noRule},
		{[]agent.Denial{lines, other, own, another}, noRule + "; artoo trust --run --yes; artoo --allow 'write(x)'; and 1 more"},
	} {
		if got := unanswered(test.denied); got == nil || got.Hint != test.want {
			t.Errorf("%+v, want %q", got, test.want)
		}
	}
	if got := unanswered([]agent.Denial{said}); got != nil {
		t.Errorf("%+v of a call that the user refused", got)
	}
}

func TestTheHintCountsTheWaysThatItDoesNotName(t *testing.T) {
	t.Parallel()
	var denied []agent.Denial
	for _, name := range []string{"a", "b", "c", "d", "e", "d", "f", "g", "h"} {
		denied = append(denied, agent.Denial{Rule: "write(" + name + ")", Nobody: true})
	}
	if got := hint(denied...); got != "artoo --allow 'write(a)' --allow 'write(b)' --allow 'write(c)'; and 5 more" {
		t.Error(got)
	}
}
