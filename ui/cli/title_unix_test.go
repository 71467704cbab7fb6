//go:build unix

package cli

import (
	"strings"
	"syscall"
	"testing"

	"artoo/provider/providertest"
)

// A terminal that is known to take them gets title and progress, and has its own title again after an end and after a
// signal in the middle of a turn. Another terminal gets nothing.
func TestTheTitleIsGivenBack(t *testing.T) {
	t.Parallel()
	artoo := buildProgram(t, moduleDir)
	reply := providertest.Chat(providertest.Text("begun and not ended"))
	reply.End = providertest.Hang
	for _, c := range []struct{ name, term, end string }{
		{"Ghostty", "TERM=xterm-ghostty", "\x1b]9;4;0\x1b\\\x1b[23;2t"},
		{"another", "TERM=xterm-256color", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newModel(t, always(reply))
			k := startTerminal(t, t.TempDir(), m.env(t, c.term), artoo)
			k.expect("you: ", 0)
			if c.end != "" {
				k.expect("\x1b[22;2t\x1b]2;artoo\x1b\\", 0)
			}
			k.leave()
			left := string(k.shown)
			k = startTerminal(t, t.TempDir(), m.env(t, c.term), artoo, "go")
			at := 0
			if c.end != "" {
				at = k.expect("\x1b]9;4;3\x1b\\", k.expect("\x1b]2;artoo: works\x1b\\", at))
			}
			k.expect("begun", at)
			if err := k.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			k.drain()
			if err := k.cmd.Wait(); err == nil {
				t.Error("a signal ended it with 0")
			}
			for _, shown := range []string{left, string(k.shown)} {
				if c.end == "" && (strings.Contains(shown, "\x1b]2;") || strings.Contains(shown, "\x1b]9;")) ||
					c.end != "" && (strings.Count(shown, c.end) != 1 || strings.Count(shown, "\x1b[22;2t") != 1) {
					t.Errorf("the terminal gets %q", shown)
				}
			}
		})
	}
}
