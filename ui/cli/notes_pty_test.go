//go:build unix

package cli

import (
	"strings"
	"testing"

	"artoo/ui/prompt/prompttest"
)

// On a narrow terminal what a subcommand remarks breaks at spaces; over a pipe it is one line.
func TestNotesOfSubcommandsBreakAtSpaces(t *testing.T) {
	for _, args := range [][]string{{"rules"}, {"mcp", "list"}, {"mcp", "import"}, {"bundle", "list"}, {"trust", "rm"},
		{"--approval", "some"}} {
		name := "artoo " + strings.Join(args, " ")
		cmd := onTerminal(t, nil, args...)
		cmd.Env = append(cmd.Env, "NO_COLOR=1")
		tty, err := prompttest.StartPTY(cmd, 40, 24)
		if err != nil {
			t.Fatal(err)
		}
		shown := strings.ReplaceAll(watch(t, cmd, tty), "\r", "")
		for row := range strings.Lines(shown) {
			if row = strings.Trim(row, "•✗ \n"); len(row) > 37 && strings.Contains(row, " ") {
				t.Errorf("%s: %q", name, row)
			}
		}
		piped := onTerminal(t, nil, args...)
		piped.Dir, piped.Env = cmd.Dir, cmd.Env
		out, _ := piped.CombinedOutput() // the error is that of its exit status, which scripts check
		if first := strings.SplitAfter(string(out), "\n")[0]; len(first) < 40 {
			t.Errorf("%s over a pipe: %q", name, out)
		}
	}
}
