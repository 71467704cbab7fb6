package ui

import (
	"artoo/ui/screen"
	"context"
	"fmt"
	"slices"
	"strconv"
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
	switch what {
	case "":
		if len(c.queue) == 0 {
			c.screen.Note("nothing waits")
		}
		for i, l := range c.queue {
			c.screen.Row(strconv.Itoa(i+1)+"  ", oneLine(firstLine(l.text)))
		}
		return nil
	case "drop", "edit":
	default:
		return fmt.Errorf("%q is neither drop N, drop all nor edit N", arg)
	}
	if what == "drop" && which == "all" {
		c.screen.Note("dropped " + screen.Count(len(c.queue), "line"))
		c.queue, c.backlog = nil, 0
		return nil
	}
	if which == "" {
		return fmt.Errorf("%s which line? /queue numbers them", what)
	}
	n, err := strconv.Atoi(which)
	if err != nil || n < 1 || n > len(c.queue) {
		return fmt.Errorf("no line %q waits; /queue numbers them", which)
	}
	l := c.queue[n-1]
	reader, canEdit := c.reader.(prefiller)
	if what == "edit" && !canEdit {
		return fmt.Errorf("a line cannot be edited here; /queue drop %d, then write it anew: %s", n, firstLine(l.text))
	}
	c.queue = slices.Delete(c.queue, n-1, n)
	c.backlog -= len(l.text)
	if what == "drop" {
		c.screen.Note("dropped: " + oneLine(firstLine(l.text)))
		return nil
	}
	c.screen.Note("taken back, it is in the next prompt: " + oneLine(firstLine(l.text)))
	reader.prefill(draft{l.text, l.spans})
	return nil
}

// prefiller is a lineReader whose next prompt can begin with a text.
type prefiller interface{ prefill(text draft) }

// prefill puts text before what is typed already.
func (f *keyReader) prefill(text draft) {
	f.ed.load(text.join(f.ed.draft()))
	f.draw()
}
