package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/text"
	"artoo/ui/export"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

func runSessions(_ context.Context, t *Terminal, which string) error {
	rows, err := t.sessions(which)
	if err != nil || len(rows) == 0 {
		return err
	}
	c := t.sessionChoices(rows)
	c.show(t.screen, c.title, c.all())
	t.screen.Note("/resume NUMBER, ID or NAME opens one; /resume WORDS searches")
	return nil
}

const allSessions = "all"

// sessions are those of this directory, newest first, with the headless runs that have a name
// or are asked for. Where there are none it says so.
func (t *Terminal) sessions(which string) ([]conversation.Info, error) {
	if which != "" && which != allSessions {
		return nil, fmt.Errorf("unknown word %q; %s also lists headless runs", which, allSessions)
	}
	rows, err := t.opt.Agent.Sessions()
	if err != nil {
		return nil, err
	}
	count := len(rows)
	if which == "" {
		rows = slices.DeleteFunc(rows, isHeadlessRun)
	}
	t.listed = rows
	switch hidden := count - len(rows); {
	case hidden > 0:
		t.screen.Note(screen.Count(hidden, "headless run") + " not listed: /sessions all, /resume all")
	case count == 0:
		t.screen.Note("no sessions in this directory")
	}
	return rows, nil
}

// isHeadlessRun reports whether a session is of a headless run. One with a name is the user's.
func isHeadlessRun(i conversation.Info) bool { return i.Headless && i.Name == "" }

func (t *Terminal) sessionChoices(rows []conversation.Info) choices {
	c := choices{title: "sessions in " + oneLine(t.opt.Agent.Env().Dir),
		prompt: "number, or part of ID, name or title (Enter: stay here): "}
	for _, r := range rows {
		title := text.Head(r.First)
		if r.Name != "" {
			title = "[" + r.Name + "] " + title
		}
		about := title
		if r.Headless {
			about = "(headless) " + title
		}
		cost := ""
		if r.CostUSD != nil {
			cost = text.Dollars(*r.CostUSD)
		}
		c.list = append(c.list, listed{name: r.ID + " " + title, also: r.Name, now: r.ID == t.opt.Agent.SessionID(),
			cells: []string{r.ID, age(t.opt.Clock.Now().Sub(r.Updated)), screen.Count(r.Messages, "message"), cost, about}})
	}
	return c
}

// runResume goes on with the session of that number, id or name, or lets the user choose, with
// words among the sessions in which they stand.
func runResume(ctx context.Context, t *Terminal, arg string) error {
	if arg == "" || arg == allSessions {
		rows, err := t.sessions(arg)
		if err != nil {
			return err
		}
		return t.chooseSession(ctx, rows)
	}
	id := arg
	switch n, err := strconv.Atoi(arg); {
	case err == nil && n >= 1 && n <= len(t.listed):
		id = t.listed[n-1].ID
	case err == nil && len(arg) <= len(strconv.Itoa(listedChoices)): // too short to mean an id
		return fmt.Errorf("no session number %s; /resume without a number lists them", arg)
	}
	err := t.resume(id)
	if e, ok := errors.AsType[*conversation.Error](err); ok && e.ErrorKind() == "usage" {
		rows, findErr := t.opt.Agent.FindSessions(strings.Fields(arg))
		rows = slices.DeleteFunc(rows, isHeadlessRun)
		if findErr != nil || len(rows) == 0 {
			return errors.Join(err, findErr)
		}
		return t.chooseSession(ctx, rows)
	}
	return err
}

func (t *Terminal) chooseSession(ctx context.Context, rows []conversation.Info) error {
	t.listed = rows
	if len(rows) == 0 {
		return nil
	}
	i, err := t.choose(ctx, t.sessionChoices(rows))
	if err != nil || i == nothingChosen {
		return err
	}
	return t.resume(rows[i].ID)
}

func (t *Terminal) resume(id string) error {
	resumed, err := t.opt.Agent.Resume(id)
	if err != nil {
		return err
	}
	t.forget()
	t.showResumed(resumed)
	return nil
}

func runRename(_ context.Context, t *Terminal, name string) error {
	if name == "" {
		if s := t.opt.Agent.Conversation().Session(); s != nil && s.Name() != "" {
			t.screen.Note("this session is called " + oneLine(s.Name()) + "; /rename NAME changes that")
			return nil
		}
		return errors.New("/rename NAME gives the session a name")
	}
	if err := t.opt.Agent.Rename(name); err != nil {
		return err
	}
	t.screen.Note(fmt.Sprintf("session renamed to %q; use it with /resume or artoo -r", oneLine(t.opt.Agent.Conversation().Session().Name())))
	return nil
}

// forget drops the state of the session that was left.
func (t *Terminal) forget() {
	t.shared = nil
	t.outputs.clear()
}

func completeSessions(t *Terminal, _ string) []prompt.Candidate {
	rows, err := t.opt.Agent.Sessions()
	if err != nil {
		return nil // the command itself says why
	}
	var all []prompt.Candidate
	rows = slices.DeleteFunc(rows, isHeadlessRun)
	for _, r := range rows[:min(len(rows), listedChoices)] {
		if r.Name != "" {
			all = append(all, prompt.Candidate{Text: r.Name, Help: r.ID})
		}
		all = append(all, prompt.Candidate{Text: r.ID, Help: age(t.opt.Clock.Now().Sub(r.Updated)) + ", " + text.Head(r.First)})
	}
	return all
}

func runClear(_ context.Context, t *Terminal, _ string) error {
	old, err := t.opt.Agent.Clear()
	if err != nil {
		return err
	}
	t.forget()
	if old == "" {
		t.screen.Note("a new session begins")
	} else {
		t.screen.Note("a new session begins; /resume " + oneLine(old) + " goes back")
	}
	return nil
}

func runFork(_ context.Context, t *Terminal, arg string) error {
	back, err := strconv.Atoi(cmp.Or(arg, "0"))
	if err != nil || arg != "" && back < 1 {
		return fmt.Errorf("%s is not a number of messages; /fork 1 leaves out your last message and the replies to it", arg)
	}
	old, now, err := t.opt.Agent.Fork(back)
	if err != nil {
		return err
	}
	t.screen.Note(fmt.Sprintf("now in session %s, a copy; /resume %s returns to the original", oneLine(now),
		oneLine(old)))
	return nil
}

func runExportFile(_ context.Context, t *Terminal, name string) error {
	s, err := exported(t.opt.Agent)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "~") {
		name = t.access().abs(name)
	}
	path, err := export.File(t.opt.Agent.Env().Dir, name, s)
	var wrong *export.Error
	if errors.As(err, &wrong) {
		return errors.New(wrong.Error() + "; " + wrong.Hint)
	}
	if err == nil {
		t.screen.Note("written to " + oneLine(path))
	}
	return err
}

// exported is the present session, or the part the model still sees of one that is not kept.
func exported(a *agent.Agent) (export.Session, error) {
	c := a.Conversation()
	if c.MessageCount() == 0 {
		return export.Session{}, errors.New("nothing was said yet")
	}
	if s := c.Session(); s != nil {
		kept, err := a.Saved()
		if err != nil {
			return export.Session{}, err
		}
		e, err := export.Of(kept)
		h := s.Header()
		e.ID, e.ForkOf = h.ID, h.ForkOf
		return e, err
	}
	m := a.Model()
	s := export.Session{Dir: a.Env().Dir, Provider: m.Name, Model: m.Defaults.Model, Messages: c.Messages()}
	s.Totals.Usage, s.Totals.CostUSD = a.Spent()
	return s, nil
}

const answerTail = 12

func (t *Terminal) showResumed(r *agent.Resumed) {
	head := "resumed " + oneLine(r.ID)
	if !r.When.IsZero() {
		head += ", " + age(t.opt.Clock.Now().Sub(r.When))
	}
	if r.Model != "" {
		head += ", " + oneLine(r.Model)
	}
	if r.Mode != "" {
		head += ", approval " + string(r.Mode)
	}
	t.screen.Note(head)
	if r.Before != "" {
		name := oneLine(r.Before)
		t.screen.Note("the last answer was by " + name + "; /model " + name + " goes back to it")
	}
	if r.User != "" {
		t.screen.Said(screen.You, r.User)
	}
	if r.Answer != "" {
		text, before := tail(r.Answer, answerTail)
		if before > 0 {
			t.screen.Note(screen.Count(before, "line") + " before this")
		}
		t.screen.Markdown(text)
	}
	if r.Cut {
		t.screen.Note("the answer was cut off here")
	}
	if len(r.Changed) > 0 {
		names := make([]string, len(r.Changed))
		for i, name := range r.Changed {
			names[i] = oneLine(name)
		}
		t.screen.Note("changed since: " + text.UpTo(10, names))
	}
}

// tail is the last n lines of a Markdown text, code still as code, and how many stood before.
func tail(text string, n int) (last string, before int) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) <= n {
		return strings.Join(lines, "\n"), 0
	}
	before = len(lines) - n
	fence := export.OpenFence(strings.Join(lines[:before], "\n"))
	lines = lines[before:]
	if fence != "" {
		lines = append([]string{fence}, lines...)
	}
	return strings.Join(lines, "\n"), before
}

func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return screen.Count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour:
		return screen.Count(int(d/time.Hour), "hour") + " ago"
	}
	return screen.Count(int(d/(24*time.Hour)), "day") + " ago"
}

// runCompact has the old part of the history summed up; keep names facts for the summary to keep.
// With the word show it shows the last summary.
func runCompact(ctx context.Context, t *Terminal, keep string) error {
	if keep == "show" {
		text := t.opt.Agent.Summary()
		if text == "" {
			return errors.New("there is no summary in this session")
		}
		t.screen.Markdown(text)
		return nil
	}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		return t.opt.Agent.Compact(ctx, keep, t.callbacks())
	})
}

func runUncompact(_ context.Context, t *Terminal, _ string) error {
	did, err := t.opt.Agent.Uncompact()
	if err != nil {
		return err
	}
	t.screen.Note(cmp.Or(did, "no compaction to undo"))
	return nil
}

// runAside asks a question beside the session.
func runAside(ctx context.Context, t *Terminal, question string) error {
	if question == "" {
		return errors.New("follow it with a question: /btw QUESTION answers it and leaves the session as it is")
	}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		return t.opt.Agent.Aside(ctx, question, t.callbacks())
	})
}
