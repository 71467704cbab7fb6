package agent

import (
	"context"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"artoo/provider"
	"artoo/tool"
)

func (p *pending) settle(r CallResult) {
	p.outcome, p.settled = r, true
}

func (p *pending) fail(summary, text string) {
	p.settle(CallResult{Status: CallFailed, Summary: summary, Text: text})
}

func (p *pending) interrupted(why error) {
	p.settle(CallResult{Status: CallInterrupted, Summary: "not run", Text: "interrupted: not run, since the turn was stopped (" + why.Error() + ")"})
}

// outcomeOf sorts the end of a call that ran.
func outcomeOf(ctx context.Context, r tool.Result, err error, took time.Duration) CallResult {
	out := CallResult{Status: CallOK, Text: r.Text, Summary: r.Summary, Duration: took.Seconds()}
	switch {
	case ctx.Err() != nil && (err != nil || r.IsError):
		out.Status, out.Summary = CallInterrupted, "interrupted"
		out.Text = strings.TrimSpace("interrupted: the turn was stopped while this ran\n" + r.Text)
	case err != nil:
		out.Status, out.Text = CallFailed, err.Error()
		out.Summary = firstLine(err.Error())
	case r.IsError:
		out.Status = CallFailed
		out.Tail = lastLines(withoutEnd(r.Text), 5)
	}
	return out
}

func (t *turn) tool(name string) *tool.Tool {
	return tool.Find(t.opt.Tools, name)
}

func (t *turn) toolNames() string {
	names := make([]string, 0, len(t.opt.Tools))
	for _, tl := range t.opt.Tools {
		names = append(names, tl.Name)
	}
	sort.Strings(names)
	return strings.Join(names, ", ")
}

func images(in []tool.Image) []provider.Image {
	var out []provider.Image
	for _, i := range in {
		out = append(out, provider.Image(i))
	}
	return out
}

func summaryOf(word, reason string) string {
	if reason == "" {
		return word
	}
	return word + ": " + firstLine(reason)
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return preview(line, 120)
}

// preview cuts s at n bytes, on a rune's border.
func preview(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// withoutEnd drops the lines in brackets at the end of a command's text: they
// say how it ended, and the summary says that already.
func withoutEnd(s string) string {
	for {
		s = strings.TrimRight(s, "\n")
		i := strings.LastIndexByte(s, '\n') + 1
		if last := s[i:]; !strings.HasPrefix(last, "[") || !strings.HasSuffix(last, "]") {
			return s
		}
		s = s[:i]
	}
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.Join(lines, "\n")
}
