package edit

import (
	"fmt"
	"strings"
	"testing"
)

// The words about a miss must not cost much in a large file.
func TestEditMissInLargeFile(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, "some line of a long file, number %d\n", i)
	}
	body := b.String()
	if got := explainMiss(body, "some line of a lengthy file, number 37777 or so", "x"); !strings.Contains(got,
		" 37778\tsome line of a long file, number 37777") {
		t.Errorf("%.200s", got)
	}
	if got := explainMiss(body, "some line of a long file, number 5\nsome line  of a long file, number 6",
		"x"); !strings.Contains(got, "     6\tsome line of a long file, number 5\n     7\t") {
		t.Errorf("%.300s", got)
	}
	if got := explainMiss("", "x", "y"); !strings.Contains(got, "nor anything like it") {
		t.Errorf("%s", got)
	}
}

// A file of equal lines, and an edit that nearly fits everywhere: the search for
// the nearest lines once took half a minute.
func TestMissAmongEqualLines(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("same line\n", 20_000)
	if words := explainMiss(body, body+"x", "y"); !strings.Contains(words, "The nearest lines are") {
		t.Errorf("%.300s", words)
	}
}

func TestMissNamesTheUnicodeForm(t *testing.T) {
	t.Parallel()
	words := explainMiss("x\ncafe\u0301 au lait\n", "caf\u00e9 au lait", "tea")
	if !strings.Contains(words, "Unicode form") || !strings.Contains(words, "     2\tcafe\u0301") {
		t.Error(words)
	}
}
