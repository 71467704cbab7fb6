package git_test

import (
	"testing"

	"artoo/tool/git"
)

func TestQuote(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"two words/größe":    "two words/größe",
		"\x1b\a\n\"\\":       `"\033\a\n\"\\"`,
		"bad\xff, größe":     `"bad\377, gr\303\266\303\237e"`,
		"trailing /\u0085":   `"trailing /\302\205"`,
		"a directory /file":  `"a directory /file"`,
		"a directory/ file ": "a directory/ file ",
	} {
		if got := git.Quote(name); got != want {
			t.Errorf("Quote(%q) = %s, want %s", name, got, want)
		}
	}
}
