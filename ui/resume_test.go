package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTailKeepsCodeCode(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		n, before        int
	}{
		{"short", "a\nb\n", "a\nb", 2, 0},
		{"prose", "a\nb\nc", "b\nc", 2, 1},
		{"within code", "x\n```go\na\nb\n```", "```go\nb\n```", 2, 3},
		{"after code", "```go\na\n```\nx\ny", "x\ny", 2, 3},
		{"a longer fence", "````\n```\na\nb", "````\na\nb", 2, 2},
		{"another fence", "~~~\n```\na\nb", "~~~\na\nb", 2, 2},
		{"an indented fence", "1. x\n   ```sh\n   a\n   b\n   ```", "```sh\n   b\n   ```", 2, 3},
		{"inline code", "`a` b\nc\nd", "c\nd", 2, 1},
	} {
		got, before := tail(c.text, c.n)
		if got != c.want || before != c.before {
			t.Errorf("%s: %q, %d lines before; want %q, %d", c.name, got, before, c.want, c.before)
		}
	}
}

func TestPromptsBreakAtBlanks(t *testing.T) {
	same := func(s string) string { return s }
	for _, c := range []struct {
		prompt, text string
		cols         int
		want         []string
	}{
		{"you: ", "abc", 40, []string{"you: abc"}},
		{"Apply this change? [y,n,a,A,e,p,q,?] (n) ", "y", 40, []string{"Apply this change? ", "[y,n,a,A,e,p,q,?] (n) y"}},
		{"Run this in ~/a/very/long/path/that/does/not/fit? (n) ", "", 20,
			[]string{"Run this in ~/a/ver", "y/long/path/that/do", "es/not/fit? (n) "}},
	} {
		l := place(c.prompt, c.text, len(c.text), c.cols, same)
		var rows []string
		for _, r := range l.rows {
			rows = append(rows, r.text)
		}
		if diff := cmp.Diff(c.want, rows); diff != "" {
			t.Errorf("%q in %d columns: %s", c.prompt, c.cols, diff)
		}
		last := c.want[len(c.want)-1]
		if l.row != len(c.want)-1 || l.col != len(last) {
			t.Errorf("%q: the cursor is at %d, %d", c.prompt, l.row, l.col)
		}
		if strings.Join(rows, "") != c.prompt+c.text {
			t.Errorf("%q: rows %q", c.prompt, rows)
		}
	}
}
