package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/journal"
	"artoo/tool/text"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// The halves of a rewind.
const (
	rewindTalk  = "talk"
	rewindFiles = "files"
)

// runRewind takes the conversation and the files back to before a message, counted from the end,
// or one half of the two.
func runRewind(ctx context.Context, t *Terminal, arg string) error {
	n, half, err := readRewind(arg)
	if err != nil {
		return err
	}
	a := t.opt.Agent
	switch {
	case a.TurnNumber() == 0:
		return errors.New("no messages yet, so there is nothing to go back to")
	case n > a.TurnNumber():
		return fmt.Errorf("this session has only %s", text.Count(a.TurnNumber(), "message"))
	case n == 0:
		if n, err = t.chooseMessage(ctx); err != nil || n == 0 {
			return err
		}
	}
	u, p, err := t.planRewind(ctx, n, half)
	if err != nil {
		return err
	}
	if half == rewindFiles && len(p.Turns) == 0 {
		return errors.New("nothing to undo since that message")
	}
	yes, err := u.confirm(ctx, t.rewindQuestion(u, p, n, half), p.HeadMoved, t.asker())
	if err != nil || !yes { // the end of the input ends the conversation at its prompt
		return nil
	}
	var report journal.Report
	if len(p.Restore) > 0 {
		if report, err = u.Journal.Apply(ctx, p); err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		if half == rewindFiles {
			a.Undid(report, false)
		}
		u.Done(p, report)
	}
	if half == rewindFiles {
		return nil
	}
	old, now, err := a.Rewind(n)
	if err != nil {
		a.Undid(report, false)
		return fmt.Errorf("the conversation is unchanged; /redo brings the files back: %w", err)
	}
	t.screen.Note(fmt.Sprintf("now in session %s, which continues from before that message; /resume %s returns to the original", oneLine(now), oneLine(old)))
	return nil
}

// readRewind reads the arguments of /rewind; n is 0 without a number.
func readRewind(arg string) (n int, half string, err error) {
	words := strings.Fields(arg)
	if len(words) > 0 {
		if n, err = strconv.Atoi(words[0]); err != nil || n < 1 {
			return 0, "", fmt.Errorf("%q is not a number of messages; /rewind 1 goes back to before the last one", words[0])
		}
	}
	if len(words) > 1 {
		half = words[1]
	}
	if len(words) > 2 || half != "" && half != rewindTalk && half != rewindFiles {
		return 0, "", fmt.Errorf("%q: the number is followed by %s, %s or nothing", arg, rewindTalk, rewindFiles)
	}
	return n, half, nil
}

// planRewind plans the files' half. Where there is nothing to undo the plan is empty.
func (t *Terminal) planRewind(ctx context.Context, n int, half string) (u Undo, p journal.Plan, err error) {
	u.Screen = t.screen
	if half == rewindTalk {
		return u, p, nil
	}
	switch u, err = t.changes(); {
	case err != nil && half == rewindFiles:
		return u, p, err
	case err != nil: // A session without a journal has talk only.
		return Undo{Screen: t.screen}, p, nil
	}
	if p, err = t.opt.Agent.PlanBefore(ctx, n); errors.Is(err, journal.ErrNothing) {
		err = nil
	}
	return u, p, err
}

func (t *Terminal) rewindQuestion(u Undo, p journal.Plan, n int, half string) screen.UndoQuestion {
	q := screen.UndoQuestion{Head: "the files stay as they are"}
	if len(p.Turns) > 0 {
		q = u.Question(p)
	} else if half == "" {
		q.Head = "no file changes"
	}
	said := text.Clip(text.FirstLine(t.opt.Agent.Turn(t.opt.Agent.TurnNumber()-n+1)), 60)
	q.Verb, q.Object = "rewind", fmt.Sprintf(`to before "%s"`, said)
	row := "the conversation stays as it is"
	if half != rewindFiles {
		row = "your last " + text.Counted(n, "message", "messages") + " and everything after them are dropped; this session keeps them"
		if n == 1 {
			row = "your last message and everything after it are dropped; this session keeps them"
		}
	}
	q.Rows = slices.Insert(q.Rows, 0, screen.UndoRow{Text: row})
	return q
}

// chooseMessage lists the user's messages, the last one first, and asks which one; 0 for none.
func (t *Terminal) chooseMessage(ctx context.Context) (n int, err error) {
	a := t.opt.Agent
	c := choices{title: "rewind to before which message?", prompt: "number or part of the message (Enter: stay here): "}
	for turn := a.TurnNumber(); turn > 0; turn-- {
		said := text.Clip(text.FirstLine(a.Turn(turn)), 60)
		c.list = append(c.list, listed{name: said, cells: []string{said}})
	}
	i, err := t.choose(ctx, c)
	return i + 1, err // nothingChosen is -1
}

// completeRewind runs while a turn may: it offers the halves only.
func completeRewind(_ *Terminal, arg string) (all []prompt.Candidate) {
	number, _, ok := strings.Cut(arg, " ")
	if _, err := strconv.Atoi(number); err != nil || !ok {
		return nil
	}
	return []prompt.Candidate{{Text: number + " " + rewindTalk, Help: "the conversation only"}, {Text: number + " " + rewindFiles, Help: "the files only"}}
}
