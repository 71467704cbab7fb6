package spelling

import "testing"

func TestDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b        string
		limit, want int
	}{
		{"", "", 2, 0}, {"abc", "abc", 2, 0}, {"abc", "abd", 2, 1}, {"abc", "acb", 2, 1}, {"abc", "", 3, 3},
		{"kitten", "sitting", 5, 3}, {"abc", "abcdef", 2, 3}, {"ä", "a", 2, 1},
	} {
		if got := Distance(test.a, test.b, test.limit); got != test.want {
			t.Errorf("%q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"model", "provider", "max_turns"}
	for word, want := range map[string]string{"modle": "model", "moddel": "model", "maxturns": "max_turns", "x": "",
		"tools": "", "": "", "providre": "provider"} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q is nearest to %q, want %q", word, got, want)
		}
	}
}
