package ui

import (
	"testing"
)

func TestTailKeepsCodeCode(t *testing.T) {
	t.Parallel()
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
