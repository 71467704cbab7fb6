package ui

import (
	"context"
	"path/filepath"
	"strings"

	"artoo/ui/screen"
)

// isMemory reports whether a typed line is one to remember: #TEXT. What looks like a
// smaller heading, or goes on below, is a message.
func isMemory(text string) bool {
	rest, is := strings.CutPrefix(text, "#")
	return is && !strings.HasPrefix(rest, "#") && !strings.Contains(strings.TrimSpace(text), "\n")
}

// remember shows what adding the line to the nearest instruction file comes to, asks,
// and does it.
func (t *Terminal) remember(ctx context.Context, text string) error {
	text = strings.TrimSpace(strings.TrimPrefix(text, "#"))
	if text == "" {
		t.Note("follow # with what later sessions should know: #use tabs adds it to AGENTS.md")
		return nil
	}
	m, err := t.opt.Agent.PlanMemory(text)
	if err != nil {
		t.Note("#: " + oneLine(err.Error()))
		return nil
	}
	name := m.Path
	if rel, err := filepath.Rel(t.opt.Agent.Env().Dir, m.Path); err == nil {
		name = rel
	}
	s, q := t.Screen, screen.MemoryQuestion{File: name, Diff: m.Diff}
	yes, err := yesNo(dialogue[bool]{
		show: func() (string, bool) { return s.Memory(q) }, all: func() string { return s.ChangesAll(q.Diff) }, help: s.MemoryHelp,
	}).ask(ctx, t.asker())
	if yes {
		if err := t.opt.Agent.Remember(m); err != nil {
			t.Note("#: " + oneLine(err.Error()))
			return nil
		}
	}
	s.MemoryDecided(yes)
	if !yes && err == nil {
		t.Note("with a space before the # it is a message")
	}
	return nil // what ended the input ends the conversation at its prompt
}
