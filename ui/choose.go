package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"artoo/tool/spelling"
	"artoo/ui/screen"
)

// choices are what one of is chosen, by its number or by a part of its name.
type choices struct {
	title string
	// prompt is the question below the list; "" asks which one.
	prompt string
	list   []choice
}

// choice is one row of the list. All its text may come from outside.
type choice struct {
	name  string   // a typed part of it chooses it; all of it does where several hold the part
	also  string   // another name, which chooses it when all of it is typed; "" for none
	cells []string // what is shown behind the number
	now   bool     // it holds at present
}

// listedChoices is how many rows a list shows at most; a part of a name finds
// the others.
const listedChoices = 20

// nothingChosen is the index that stands for Enter alone.
const nothingChosen = -1

// choose shows the list and asks, through line, until one of it is chosen. It
// returns its index, or nothingChosen for an empty line. The error is that of line.
func choose(s *screen.Screen, c choices, line func(prompt string) (string, error)) (int, error) {
	found := make([]int, len(c.list))
	for i := range found {
		found[i] = i
	}
	c.show(s, c.title, found)
	prompt := c.prompt
	if prompt == "" {
		prompt = "number or part of the name (Enter: no change): "
	}
	for {
		text, err := line(prompt)
		if err != nil {
			return nothingChosen, err
		}
		text = strings.TrimSpace(text)
		if text == "" {
			return nothingChosen, nil
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(c.list) {
			return n - 1, nil
		}
		switch found := c.find(text); len(found) {
		case 0:
			why := "nothing here is named " + strconv.Quote(oneLine(text))
			if near := c.nearest(text); near != "" {
				why += "; the nearest is " + oneLine(near)
			}
			s.Note(why)
		case 1:
			return found[0], nil
		default:
			c.show(s, fmt.Sprintf("%d match %q:", len(found), oneLine(text)), found)
		}
	}
}

// show prints the rows of these indices under a title. Each keeps its number,
// so that one seen before stays true.
func (c choices) show(s *screen.Screen, title string, indices []int) {
	s.Note(title)
	var rows [][]string
	for at, i := range indices {
		if at >= listedChoices && !c.list[i].now {
			continue
		}
		mark := ""
		if c.list[i].now {
			mark = "*"
		}
		row := []string{mark + strconv.Itoa(i+1)}
		for _, cell := range c.list[i].cells {
			row = append(row, oneLine(cell))
		}
		rows = append(rows, row)
	}
	columns(s, rows)
	if more := len(indices) - len(rows); more > 0 {
		s.Note(fmt.Sprintf("%d more: a part of the name finds them", more))
	}
}

// find returns the indices whose name holds text, which is not empty, in any case; the
// one whose whole name it is alone.
func (c choices) find(text string) []int {
	var found []int
	for i, item := range c.list {
		if strings.EqualFold(item.name, text) || strings.EqualFold(item.also, text) {
			return []int{i}
		}
		if strings.Contains(strings.ToLower(item.name), strings.ToLower(text)) {
			found = append(found, i)
		}
	}
	return found
}

func (c choices) nearest(text string) string {
	var names []string
	for _, item := range c.list {
		names = append(names, item.name)
	}
	return spelling.Nearest(text, names)
}

// choose asks in the conversation. Ctrl-C, Ctrl-D and the end of the input leave
// everything as it is, as an empty line does.
func (t *Terminal) choose(ctx context.Context, c choices) (int, error) {
	i, err := choose(t.Screen, c, func(prompt string) (string, error) {
		l, err := t.console.ask(ctx, lineRequest{prompt: prompt})
		return l.text, err
	})
	if errors.Is(err, io.EOF) || errors.Is(err, errInterrupted) {
		return nothingChosen, nil
	}
	return i, err
}

// Choose asks which of several things is meant, before a conversation begins. in
// is a terminal in its ordinary mode. The end of the input and an empty line are
// an error.
func Choose(ctx context.Context, in io.Reader, s *screen.Screen, title string, names []string) (string, error) {
	c := choices{title: title, prompt: "number or part of the name: "}
	for _, name := range names {
		c.list = append(c.list, choice{name: name, cells: []string{name}})
	}
	i, err := choose(s, c, func(prompt string) (string, error) {
		s.Prompt(prompt)
		text, err := readPlainLine(in)
		s.PromptDone()
		if err == nil {
			err = context.Cause(ctx)
		}
		return text, err
	})
	switch {
	case err != nil:
		return "", err
	case i == nothingChosen:
		return "", errors.New("no answer")
	}
	return names[i], nil
}

// readPlainLine reads one line and not a byte more: the rest is for the next
// reader.
func readPlainLine(in io.Reader) (string, error) {
	var line []byte
	var one [1]byte
	for {
		n, err := in.Read(one[:])
		if n == 1 {
			if one[0] == '\n' {
				return string(line), nil
			}
			line = append(line, one[0])
			continue
		}
		if err != nil {
			return "", err
		}
	}
}

// errNoSecret is the end of a question by a signal where there is no way to die
// of it.
var errNoSecret = errors.New("interrupted")

// ReadSecret asks on a terminal for a line that is not shown. The terminal is
// left as it was found however the question ends: a signal ends the program by
// that very signal, once the echo is back. The prompt must be safe to show.
func ReadSecret(in *os.File, s *screen.Screen, prompt string) (string, error) {
	echo, err := hideEcho(in)
	if err != nil {
		return "", err
	}
	defer echo.restore() // again at the end; it does nothing more then
	signals, stop := watchSignals()
	defer stop()
	s.Prompt(prompt)
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		text, err := readPlainLine(in)
		came <- line{text, err}
	}()
	for {
		select {
		case l := <-came:
			s.PromptDone()
			return l.text, errors.Join(l.err, dropRest(in), echo.restore())
		case sig := <-signals:
			if isResize(sig) {
				continue
			}
			if isContinue(sig) { // the shell that stopped us may have its own idea of echo
				if err := echo.hide(); err != nil {
					return "", err
				}
				s.Draw([]byte(prompt))
				continue
			}
			err := errors.Join(dropRest(in), echo.restore())
			s.Draw([]byte("\n"))
			s.PromptDone()
			return "", errors.Join(errNoSecret, err, dieOf(sig))
		}
	}
}

// dropRest throws away what was typed or pasted beyond the line, or before a
// signal: it may be the rest of a secret, and the shell would show it and run it.
func dropRest(in *os.File) error {
	if err := flushInput(in); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
