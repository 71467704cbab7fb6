//go:build unix

package cli

import (
	"strings"
	"testing"

	"artoo/ui/prompt/prompttest"
)

// TestTheFirstPageFitsANarrowTerminal: no name of a variable is broken in two.
func TestTheFirstPageFitsANarrowTerminal(t *testing.T) {
	t.Parallel()
	cmd := onTerminal(t, nil)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `artoo; echo over`}
	cmd.Env = append(cmd.Env, "ARTOO_PROVIDER=", "ARTOO_MODEL=", "ANTHROPIC_API_KEY=", "OLLAMA_HOST=127.0.0.1:1",
		"NO_COLOR=1")
	tty, err := prompttest.StartPTY(cmd, 40, 20)
	if err != nil {
		t.Fatal(err)
	}
	defer tty.Close()
	shown := watch(t, cmd, tty, [2]string{"over", ""})
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; the terminal shows\n%s", err, shown)
	}
	page, _, found := strings.Cut(shown, "artoo: ")
	if !found || !strings.Contains(page, "To get started:") || strings.Count(page, "  - ") != 4 {
		t.Errorf("the terminal shows\n%s", shown)
	}
	for row := range strings.Lines(page) {
		if row = strings.TrimRight(row, "\r\n"); len(row) > 40 {
			t.Errorf("%q has %d columns", row, len(row))
		}
	}
}
