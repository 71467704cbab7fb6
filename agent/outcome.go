package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"artoo/provider"
	"artoo/tool"
)

func (p *pending) end(r CallResult) {
	p.outcome, p.final = r, true
}

func (p *pending) fail(summary, text string) {
	p.end(CallResult{Status: CallFailed, Summary: summary, Text: text})
}

func (p *pending) crashed(err error) { p.fail(firstLine(err.Error()), err.Error()) }

func (p *pending) interrupted(why error) {
	text := fmt.Sprintf("interrupted: not run, since the turn was stopped (%v)", why)
	p.end(CallResult{Status: CallInterrupted, Summary: "not run", Text: text})
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

func (t *turn) toolNames() string {
	var names []string
	for _, o := range t.offered() {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
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

// effectOf is what a call did that ran, for the line that tells it when the call
// is no longer sent; nil for one of which there is nothing to tell.
func (t *turn) effectOf(p *pending) *provider.Effect {
	if decided := t.decided(p); decided != "" {
		return &provider.Effect{Decided: decided}
	}
	if p.final {
		return nil
	}
	a := p.call.Access
	switch {
	case a.Kind == tool.KindRun && a.Command != "" && a.To == "":
		end, _, _ := strings.Cut(p.outcome.Summary, " in ") // how long it took is no longer of use
		return &provider.Effect{Command: t.masked(a.Command), End: end}
	case a.Kind == tool.KindWrite && p.outcome.Status == CallOK && len(a.Paths) > 0:
		return &provider.Effect{Files: t.namesOf(a.Paths)}
	}
	return nil
}

// decided is what the user decided on a call, "" for nothing.
func (t *turn) decided(p *pending) string {
	switch {
	case p.outcome.Status == CallDenied && p.refusal != nil:
		return t.masked(firstLine(p.call.Access.Object)) + " was refused" + because(firstLine(*p.refusal))
	case p.outcome.Status != CallOK:
		return ""
	case p.call.Name == AskUser:
		question, _ := tool.Decode[askUserInput](*p.tool, p.call.Input)
		return t.masked(firstLine(question.Question)) + " " + firstLine(p.outcome.Text)
	case p.call.Name == ExitPlan:
		return firstLine(p.outcome.Text)
	}
	return ""
}

// namesOf are absolute paths as seen from the working directory, masked.
func (t *turn) namesOf(paths []string) (names []string) {
	for _, path := range paths {
		if rel, err := filepath.Rel(t.opt.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = rel
		}
		names = append(names, t.masked(path))
	}
	return names
}
