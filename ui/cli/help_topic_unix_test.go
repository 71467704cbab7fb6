//go:build unix

package cli

import (
	"strings"
	"testing"

	"artoo/ui/prompt/prompttest"
)

// On a terminal a page is rendered, and goes through the pager where it is longer than the screen.
func TestAPageOfHelpOnATerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		topic, pager string
		rows         int
		paged        bool
	}{{"permissions", "PAGER=sed 's/^/paged /'", 24, true}, {"cost", "PAGER=sed 's/^/paged /'", 60, false}, {"permissions", "PAGER=cat", 24, false}} {
		cmd := onTerminal(t, nil, "help", c.topic)
		cmd.Dir, cmd.Env = ".", append(cmd.Env, c.pager) // The pages are found from there.
		tty, err := prompttest.StartPTY(cmd, 70, c.rows)
		if err != nil {
			t.Fatal(err)
		}
		shown := watch(t, cmd, tty)
		if strings.Contains(shown, "](") || strings.Contains(shown, "| --- |") || strings.Contains(shown, "paged ") != c.paged {
			t.Errorf("%s, %s:\n%s", c.topic, c.pager, shown)
		}
		for line := range strings.Lines(shown) {
			if n := len(strings.TrimPrefix(strings.TrimSpace(line), "paged ")); !strings.Contains(line, "$ artoo") && n > 110 {
				t.Errorf("%s: a row of %d bytes: %q", c.topic, n, line)
			}
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
