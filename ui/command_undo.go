package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/tool/journal"
	"artoo/ui/prompt"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

var errNoJournal = errors.New("this session keeps no undo journal, so nothing can be undone")

func runUndo(ctx context.Context, t *Terminal, arg string) error { return t.undo(ctx, arg, false) }
func runRedo(ctx context.Context, t *Terminal, arg string) error { return t.undo(ctx, arg, true) }

// undo shows the changes of undoing or redoing turns, asks, and makes them.
func (t *Terminal) undo(ctx context.Context, arg string, redo bool) error {
	n, err := strconv.Atoi(cmp.Or(arg, "1"))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of turns", arg)
	}
	u, err := t.changes()
	if err != nil {
		return err
	}
	p, err := u.Journal.Plan(ctx, n, redo)
	switch {
	case errors.Is(err, journal.ErrNothing) && redo:
		return errors.New("nothing to redo")
	case errors.Is(err, journal.ErrNothing):
		return errors.New("nothing to undo in this session")
	case err != nil:
		return err
	case len(p.Restore) == 0:
		u.Done(p, journal.Report{})
		return nil
	}
	yes, err := u.ask(ctx, p, t.asker())
	if err != nil || !yes { // the end of the input ends the conversation at its prompt
		return nil
	}
	report, err := u.Journal.Apply(ctx, p)
	if err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	t.opt.Agent.Undid(report, redo)
	u.Done(p, report)
	return nil
}

func (t *Terminal) changes() (Undo, error) {
	a := t.opt.Agent
	if a.Journal() == nil {
		return Undo{}, errNoJournal
	}
	return Undo{Journal: a.Journal(), Root: a.Policy().Root, Said: a.Turn, Screen: t.screen, Environ: t.opt.Environ}, nil
}

func runDiff(_ context.Context, t *Terminal, arg string) error {
	u, err := t.changes()
	if err != nil {
		return err
	}
	var turns []int
	if arg != "" {
		n, err := strconv.Atoi(arg)
		if err != nil {
			return fmt.Errorf("%q is not the number of a turn", arg)
		}
		if turns = []int{n}; !slices.Contains(u.Journal.Turns(), n) {
			return fmt.Errorf("turn %d has nothing to undo; turns with changes: %s", n, cmp.Or(numbers(u.Journal.Turns()), "none"))
		}
	}
	changes := u.Journal.Diff(turns...)
	if len(changes) == 0 {
		t.screen.Note("nothing was changed")
		return nil
	}
	diff := u.Diff(changes)
	for _, row := range slices.Backward(u.git(changes, true)) {
		diff = oneLine(row) + "\n" + diff
	}
	_, rows := t.opt.Size()
	shown, all := t.screen.Changes(diff, rows)
	if shown {
		return nil
	}
	return t.children.page(all)
}

// completeTurns and completeCount run while a turn may: only the journal is asked.
func completeTurns(t *Terminal, _ string) (all []prompt.Candidate) {
	u, err := t.changes()
	if err != nil {
		return nil
	}
	for _, n := range slices.Backward(u.Journal.Turns()) {
		all = append(all, prompt.Candidate{Text: strconv.Itoa(n), Help: "the changes of turn " + strconv.Itoa(n)})
	}
	return all
}

func completeCount(t *Terminal, _ string) (all []prompt.Candidate) {
	u, err := t.changes()
	if err != nil {
		return nil
	}
	turns := u.Journal.Turns()
	for i := range turns {
		all = append(all, prompt.Candidate{Text: strconv.Itoa(i + 1), Help: "back to before turn " + strconv.Itoa(turns[len(turns)-1-i])})
	}
	return all
}

// isMemory reports whether a typed line is one to remember: #TEXT, no smaller heading, one
// line.
func isMemory(text string) bool {
	rest, is := strings.CutPrefix(text, "#")
	return is && !strings.HasPrefix(rest, "#") && !strings.Contains(strings.TrimSpace(text), "\n")
}

// remember asks whether to add the line to the nearest instruction file.
func (t *Terminal) remember(ctx context.Context, text string) error {
	text = strings.TrimSpace(strings.TrimPrefix(text, "#"))
	if text == "" {
		t.screen.Note("follow # with what later sessions should know: #use tabs adds it to AGENTS.md")
		return nil
	}
	own, err := t.opt.Agent.Memories().Plan(text)
	if err != nil {
		t.screen.Trouble("#: " + oneLine(err.Error()))
	}
	m, failed := t.opt.Agent.Memories().PlanInstruction(text)
	if failed != nil {
		t.screen.Trouble("#: " + oneLine(failed.Error()))
	}
	if failed == nil {
		name := m.Path
		if rel, err := filepath.Rel(t.opt.Agent.Env().Dir, m.Path); err == nil {
			name = rel
		}
		if yes, over := t.confirmMemory(ctx, m, screen.MemoryQuestion{File: name, Diff: m.Diff}); yes || over {
			return nil // the end of the input ends the conversation at its prompt
		}
	}
	if err == nil && own.Path != "" {
		if yes, over := t.confirmMemory(ctx, own, screen.MemoryQuestion{File: "memory", Diff: own.Diff, Own: true}); yes || over {
			return nil
		}
	}
	if failed == nil {
		t.screen.Note("start with a space to send it as a message")
	}
	return nil
}

// confirmMemory asks whether to make a planned change, and makes it. over is set when the input
// ended.
func (t *Terminal) confirmMemory(ctx context.Context, m agent.Memory, q screen.MemoryQuestion) (yes, over bool) {
	s := t.screen
	yes, err := yesNo(confirmation[bool](s, q)).ask(ctx, t.asker())
	if yes {
		if err := t.opt.Agent.Memories().Add(m); err != nil {
			t.screen.Trouble("#: " + oneLine(err.Error()))
			return true, false
		}
	}
	s.Confirmed(q, yes)
	return yes, err != nil
}

// runMemory shows the project's memory, or lets the user's editor change it.
func runMemory(ctx context.Context, t *Terminal, arg string) error {
	text, path, err := t.opt.Agent.Memories().Text()
	switch {
	case err != nil:
		return err
	case path == "":
		t.screen.Note("memory is off; on = true under [memory] in config.toml, or ARTOO_MEMORY=on, turns it on. " +
			"The model also reads AGENTS.md: #TEXT adds a line to it, /init writes one")
		return nil
	case arg == "":
		t.screen.Note("memory of this project: " + oneLine(path))
		if len(text) > agent.MemoryLimit {
			t.screen.Note("only the first 4 KB are sent; /memory edit shortens it")
		}
		if strings.TrimSpace(text) == "" {
			t.screen.Note("memory is empty; #TEXT or /memory edit adds a line")
			return nil
		}
		return t.children.page(sanitize.Text(text, sanitize.Code))
	case arg != "edit":
		return fmt.Errorf("unknown word %q: /memory edit changes the lines, /memory alone shows them", arg)
	}
	edited, saved, err := t.children.composeText(ctx, strings.TrimRight(text, "\n"))
	if err != nil {
		return err
	}
	if edited = strings.TrimSpace(edited); edited != "" {
		edited += "\n"
	}
	if !saved || edited == text {
		t.screen.Note("memory is unchanged")
		return nil
	}
	if err := t.opt.Agent.Memories().Replace(text, edited); err != nil {
		return err
	}
	t.screen.Note("memory is changed; the model gets it with your next message")
	return nil
}
