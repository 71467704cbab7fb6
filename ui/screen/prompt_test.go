package screen

import (
	"strings"
	"testing"
)

func TestTheUsersMessageIsBrokenBetweenWords(t *testing.T) {
	for name, test := range map[string]struct{ said, want string }{
		"words":     {"The test in this directory fails. Find out why.", "you: The test in this directory fails.\n     Find out why.\n"},
		"lines":     {"one\n\n  two of them", "you: one\n     \n       two of them\n"},
		"long word": {strings.Repeat("x", 50), "you: " + strings.Repeat("x", 50) + "\n"},
		"tabs":      {"a\tb", "you: a\tb\n"},
	} {
		r := newRig(func(o *Options) { o.Width, o.ErrColor = func() int { return 40 }, false })
		r.Said(test.said)
		if got := r.err.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Where no line editor draws the prompt, its rows are ours to break.
func TestAPromptIsBrokenBetweenWords(t *testing.T) {
	r := newRig(func(o *Options) { o.Width, o.Profile, o.ErrColor = func() int { return 40 }, Plain, false })
	r.Prompt(approve + "edit till.go? [y,n,a,A,e,p,q,?] (n) ")
	if got, want := r.err.String(), "approve: edit till.go?\n[y,n,a,A,e,p,q,?] (n) "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
