package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/ui/screen"
)

// runQueue shows and changes the lines that wait.
func runQueue(_ context.Context, t *Terminal, arg string) error {
	var err error
	t.console.do(func() { err = t.console.queued(arg) })
	return err
}

// atOnce carries out a line that is not to wait for the end of the turn: the
// queue can be looked at and mended while there is one. It reports false for
// all others. Called by the console's goroutine.
func (c *console) atOnce(l line) bool {
	if !c.announce || c.interrupt == nil || l.action != actSend || l.pasted {
		return false
	}
	name, arg := cutWord(l.text)
	if name != "/queue" {
		return false
	}
	if err := c.queued(arg); err != nil {
		c.screen.Note("/queue: " + oneLine(err.Error()))
	}
	return true
}

// queued is /queue with its argument. Called by the console's goroutine.
func (c *console) queued(arg string) error {
	what, which := cutWord(arg)
	switch {
	case what == "":
		c.showQueue()
		return nil
	case what == "now":
		return c.sendNow(which)
	case what != "drop" && what != "edit":
		return fmt.Errorf("%q is neither now, drop N, drop all nor edit N", arg)
	case what == "drop" && which == "all":
		c.screen.Note("dropped " + screen.Count(len(c.queue), "line"))
		c.queue, c.backlog = nil, 0
		return nil
	case which == "":
		return fmt.Errorf("%s which line? /queue numbers them", what)
	}
	i, err := c.waiting(which)
	if err != nil {
		return err
	}
	l := c.queue[i]
	reader, canEdit := c.reader.(prefiller)
	if what == "edit" && !canEdit {
		return fmt.Errorf("a line cannot be edited here; /queue drop %d, then write it anew: %s", i+1, firstLine(l.text))
	}
	c.queue = slices.Delete(c.queue, i, i+1)
	c.backlog -= len(l.text)
	if what == "drop" {
		c.screen.Note("dropped: " + oneLine(firstLine(l.text)))
		return nil
	}
	c.screen.Note("taken back, it is in the next prompt: " + oneLine(firstLine(l.text)))
	reader.prefill(draft{l.text, l.spans})
	return nil
}

func (c *console) showQueue() {
	if len(c.queue) == 0 {
		c.screen.Note("nothing waits")
	}
	for i, l := range c.queue {
		when := ""
		if l.now {
			when = "at the next step: "
		}
		c.screen.Row(strconv.Itoa(i+1)+"  ", when+oneLine(firstLine(l.text)))
	}
}

// waiting is the index of the line that waits with this number.
func (c *console) waiting(number string) (int, error) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(c.queue) {
		return 0, fmt.Errorf("no line %q waits; /queue numbers them", number)
	}
	return n - 1, nil
}

// sendNow has lines that wait reach the model at its next step: the one with this
// number, or with "" and "all" those that can.
func (c *console) sendNow(which string) error {
	switch {
	case c.interrupt == nil:
		return errors.New("now is for a turn that runs: what waits is sent next")
	case len(c.queue) == 0:
		return errors.New("nothing waits")
	case which != "" && which != "all":
		i, err := c.waiting(which)
		if err != nil {
			return err
		}
		if !c.steers(i) {
			return fmt.Errorf("only a message can reach the model during a turn, this waits for its end: %s",
				firstLine(c.queue[i].text))
		}
		c.markNow(i)
		return nil
	}
	marked := false
	for i := range c.queue {
		if c.steers(i) {
			c.markNow(i)
			marked = true
		}
	}
	if !marked {
		return errors.New("only messages can reach the model during a turn: what waits are commands")
	}
	return nil
}

func (c *console) markNow(i int) {
	c.queue[i].now = true
	c.screen.Note("sent at the next step, or else when the turn ends: " + oneLine(firstLine(c.queue[i].text)))
}

// steers reports whether a line that waits is a message that is whole: no command,
// and not a part of one that takes several lines.
func (c *console) steers(i int) bool {
	l := c.queue[i]
	if l.pasted {
		return true
	}
	whole := func(l line) bool {
		_, _, whole := compose(l.text)
		return whole && !fenced(l.text)
	}
	word := strings.TrimSpace(l.text)
	return whole(l) && (i == 0 || c.queue[i-1].pasted || whole(c.queue[i-1])) && l.action == actSend &&
		!slices.Contains([]string{"", "quit", "exit", "help", "?"}, word) && !strings.HasPrefix(word, "!") && !isMemory(word) &&
		(!strings.HasPrefix(word, "/") || len(droppedImages(l.text, true)) > 0)
}

// steering implements agent.Message: the lines that the user wants to reach the model
// before the turn ends leave the queue, and stand in the transcript where it gets them.
func (t *Terminal) steering(ctx context.Context) []agent.Message {
	if ctx.Err() != nil {
		return nil
	}
	var lines []line
	t.console.do(func() {
		for _, l := range t.console.queue {
			if l.now {
				lines = append(lines, l)
				t.console.backlog -= len(l.text)
			}
		}
		t.console.queue = slices.DeleteFunc(t.console.queue, func(l line) bool { return l.now })
	})
	var messages []agent.Message
	for _, l := range lines {
		t.echo(l)
		text, parts := t.attach(ctx, l)
		messages = append(messages, agent.Message{Text: text, Attachments: parts})
	}
	return messages
}

// prefiller is a lineReader whose next prompt can begin with a text.
type prefiller interface{ prefill(text draft) }

// prefill puts text before what is typed already.
func (f *keyReader) prefill(text draft) {
	f.ed.load(text.join(f.ed.draft()))
	f.draw()
}
