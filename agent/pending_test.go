package agent

import (
	"testing"

	"artoo/tool"
)

// A call that failed with one line shows it once: its summary has it.
func TestTheOnlyLineOfAFailedCallIsShownOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"no such thing\n": "", "no such thing\nthe second line\n": "no such thing\nthe second line"} {
		out := outcomeOf(t.Context(), tool.Result{IsError: true, Text: text, Summary: "no such thing"}, nil, 0)
		if out.Tail != want {
			t.Errorf("%q: the tail is %q", text, out.Tail)
		}
	}
}
