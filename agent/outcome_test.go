package agent

import "testing"

func TestTheTailLeavesOutHowItEnded(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb\n[exit status 1]\n":                 "a\nb",
		"a\n[withheld: X_TOKEN]\n[exit status 1]": "a",
		"[exit status 1]":                         "",
		"[a] b\n":                                 "[a] b",
		"1\n2\n3\n4\n5\n6\n[killed by signal: terminated]\n": "2\n3\n4\n5\n6",
	} {
		if got := lastLines(withoutEnd(text), 5); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
