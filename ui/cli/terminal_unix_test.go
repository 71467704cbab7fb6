//go:build unix

package cli

import (
	"fmt"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// The most bytes that a terminal gets for each byte of an answer.
const (
	plainBytes = 1.3
	colorBytes = 3.0
)

// TestTerminalBytes streams an answer of 20 KB in small pieces into a terminal
// and counts the bytes that arrive there, banner and prompts included.
func TestTerminalBytes(t *testing.T) {
	artoo, answer := buildProgram(t, moduleDir), longAnswer(20<<10)
	for _, c := range []struct {
		name string
		env  []string
		most float64
	}{
		{"plain", []string{"TERM=dumb"}, plainBytes},
		{"rich without colour", []string{"TERM=xterm-256color", "ARTOO_COLOR=never"}, plainBytes},
		{"rich", []string{"TERM=xterm-256color", "ARTOO_COLOR=always"}, colorBytes},
	} {
		t.Run(c.name, func(t *testing.T) {
			shown := showAnswer(t, artoo, answer, c.env)
			if words := strings.Count(string(shown), "breaker"); words < strings.Count(answer, "breaker") {
				t.Errorf("only %d of %d words arrived: the count says nothing", words, strings.Count(answer, "breaker"))
			}
			if colored := strings.Contains(string(shown), "\x1b[1m"); colored != (c.most == colorBytes) {
				t.Errorf("colour is %v", colored)
			}
			ratio := float64(len(shown)) / float64(len(answer))
			t.Logf("%.2f bytes per byte", ratio)
			if ratio > c.most {
				t.Errorf("the terminal gets %.2f bytes per byte of the answer, over %.1f", ratio, c.most)
			}
		})
	}
}

// showAnswer returns a terminal's bytes from a conversation with one answer.
func showAnswer(t testing.TB, artoo, answer string, env []string) []byte {
	m := newModel(t, always(perEvent(providertest.Chat(providertest.Text(pieces(answer, 20)...)))))
	k := startTerminal(t, t.TempDir(), m.env(t, env...), artoo, "explain")
	k.expect("you: ", k.expect(lastWord, 0))
	k.leave()
	return k.shown
}

// pieces cuts s into strings of n bytes and a shorter one.
func pieces(s string, n int) []string {
	var all []string
	for len(s) > n {
		all = append(all, s[:n])
		s = s[n:]
	}
	return append(all, s)
}

// perEvent makes a reply go out in writes of about one event.
func perEvent(r providertest.Reply) providertest.Reply {
	if events := strings.Count(string(r.Body), "\n\n"); events > 0 {
		r.Chunk = len(r.Body) / events
	}
	return r
}

// lastWord ends every manual.
const lastWord = "-- end of the manual --"

// longAnswer is a Markdown text of about size bytes, of all that answers are made
// of: headings, paragraphs with inline code, emphasis and links, lists, a
// table, code.
func longAnswer(size int) string {
	var b strings.Builder
	for n := 1; b.Len() < size-len(lastWord)-2; n++ {
		fmt.Fprintf(&b, section, n, n*7%13, n)
	}
	text := b.String()[:size-len(lastWord)-2]
	return text[:strings.LastIndex(text, "\n\n")] + "\n\n" + lastWord + "\n"
}

const section = `## %d. Why the breaker opens

A circuit **breaker** stands between a client and a server that may be down. It counts
the failures of the last %d seconds; once there are too many it *opens*, and every call
fails at once with ` + "`ErrOpen`" + ` instead of waiting for a timeout. See the [pattern's
page](https://example.org/patterns/circuit-breaker) for where the idea comes from.

- **closed**: calls pass, and their failures are counted in ` + "`window`" + `
- **open**: calls fail without being made, until ` + "`cooldown`" + ` has passed
- **half open**: one call passes; it decides what comes next
  - on success the breaker closes and forgets what it counted
  - on failure it opens again, for twice as long

| state | calls | next |
|---|---|---|
| closed | pass | open after 5 failures |
| open | fail | half open after a minute |
| half open | one passes | closed, or open |

` + "```go" + `
// Do makes the call if the breaker lets it pass.
func (b *Breaker) Do(call func() error) error {
	if !b.allow(time.Now()) {
		return fmt.Errorf("call %d: %%w", ErrOpen)
	}
	err := call()
	b.record(err == nil)
	return err
}
` + "```" + `

1. Put one breaker around each *server*, not around each call.
2. Count timeouts as failures, but not a caller that went away.
3. Log each change of state: it is the first thing to look for at night.

> A breaker that never opens in a test was never tested.

`
