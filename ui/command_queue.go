package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/tool/text"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

func runQueue(_ context.Context, t *Terminal, arg string) error {
	var err error
	t.prompt.Queue(func(q *prompt.Queue) { err = queue{q, t.screen}.run(arg) })
	return err
}

// queued implements prompt.Options.Queued: the line is shown, or carried out if it is /queue.
// It may be called before prompt.Open has returned.
func (t *Terminal) queued(q *prompt.Queue, l prompt.Line) bool {
	if !q.Typed() {
		return false
	}
	name, arg := cutWord(l.Text)
	if !q.InTurn() || l.Literal || name != "/queue" {
		t.screen.Queued(text.Head(l.Text))
		return false
	}
	if err := (queue{q, t.screen}).run(arg); err != nil {
		t.screen.Trouble("/queue: " + oneLine(err.Error()))
	}
	return true
}

type queue struct {
	*prompt.Queue
	screen *screen.Screen
}

// run is /queue with its argument.
func (q queue) run(arg string) error {
	what, which := cutWord(arg)
	switch {
	case what == "":
		q.show()
		return nil
	case what == "now":
		return q.sendNow(which)
	case what != "drop" && what != "edit":
		return fmt.Errorf("unknown word %q: use now, drop N, drop all or edit N", arg)
	case what == "drop" && which == "all":
		dropped := q.Remove(func(int, prompt.Line) bool { return true })
		q.screen.Note("dropped " + text.Count(len(dropped), "line"))
		return nil
	case which == "":
		return fmt.Errorf("%s which line? /queue numbers them", what)
	}
	i, err := q.find(which)
	if err != nil {
		return err
	}
	l := q.Lines()[i]
	first := text.Head(l.Text)
	said := "dropped: "
	if what == "edit" {
		if said = "back in the prompt: "; !q.Prefill(prompt.Draft{Text: l.Text, Pasted: l.Pasted}) {
			return fmt.Errorf("a line cannot be edited here; /queue drop %d, then write it again: %s", i+1, first)
		}
	}
	q.Remove(func(at int, _ prompt.Line) bool { return at == i })
	q.screen.Note(said + oneLine(first))
	return nil
}

func (q queue) show() {
	if len(q.Lines()) == 0 {
		q.screen.Note("the queue is empty")
	}
	for i, l := range q.Lines() {
		when := ""
		if l.Now {
			when = "at the next step: "
		}
		q.screen.Row(strconv.Itoa(i+1)+"  ", when+oneLine(text.Head(l.Text)))
	}
}

func (q queue) find(number string) (int, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(q.Lines()) {
		return 0, fmt.Errorf("no queued line %q; /queue numbers them", number)
	}
	return n - 1, nil
}

// sendNow has lines reach the model at its next step: the one with this number, or those that
// can.
func (q queue) sendNow(which string) error {
	one := -1
	switch {
	case !q.InTurn():
		return errors.New("now works only during a turn; queued lines go next anyway")
	case len(q.Lines()) == 0:
		return errors.New("the queue is empty")
	case which != "" && which != "all":
		var err error
		if one, err = q.find(which); err != nil {
			return err
		}
		if !q.steers(one) {
			return fmt.Errorf("only messages can reach the model during a turn; this waits for its end: %s",
				text.Head(q.Lines()[one].Text))
		}
	}
	marked := false
	for i := range q.Lines() {
		if (one < 0 || i == one) && q.steers(i) {
			l := &q.Lines()[i]
			l.Now, marked = true, true
			q.screen.Note("sent at the next step, or else when the turn ends: " + oneLine(text.Head(l.Text)))
		}
	}
	if !marked {
		return errors.New("only messages can reach the model during a turn: the queue holds only commands")
	}
	return nil
}

// steers reports whether a line that waits is a whole message.
func (q queue) steers(i int) bool {
	l := q.Lines()[i]
	if l.Literal {
		return true
	}
	word := strings.TrimSpace(l.Text)
	return l.Whole() && (i == 0 || q.Lines()[i-1].Whole()) &&
		!slices.Contains([]string{"", "quit", "exit", "help", "?"}, word) && !strings.HasPrefix(word, "!") && !isMemory(word) &&
		(!strings.HasPrefix(word, "/") || beginsWithImage(l.Text))
}
