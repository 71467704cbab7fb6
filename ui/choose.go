package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"artoo/tool/spelling"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// choices are what one of is chosen, by its number or by a part of its name.
type choices struct {
	title string
	// prompt is the question below the list; "" asks which one.
	prompt string
	list   []listed
}

// listed is one row of the list. All its text may come from outside.
type listed struct {
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

// dialogue asks until one of the list is chosen: its index, or nothingChosen for an empty line.
func (c choices) dialogue(s *screen.Screen) dialogue[int] {
	all := make([]int, len(c.list))
	for i := range all {
		all[i] = i
	}
	return dialogue[int]{
		show: func() (string, bool) {
			c.show(s, c.title, all)
			return cmp.Or(c.prompt, "number or part of the name (Enter: no change): "), false
		},
		read: func(typed string) (int, meaning, string) {
			typed = strings.TrimSpace(typed)
			if typed == "" {
				return nothingChosen, declines, ""
			}
			if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(c.list) {
				return n - 1, declines, ""
			}
			switch found := c.find(typed); len(found) {
			case 0:
				why := "nothing here is named " + strconv.Quote(oneLine(typed))
				if near := c.nearest(typed); near != "" {
					why += "; the nearest is " + oneLine(near)
				}
				return 0, unclear, why
			case 1:
				return found[0], declines, ""
			default:
				c.show(s, fmt.Sprintf("%d match %q:", len(found), oneLine(typed)), found)
				return 0, unclear, ""
			}
		},
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
	i, err := c.dialogue(t.Screen).ask(ctx, t.asker())
	if errors.Is(err, io.EOF) || errors.Is(err, prompt.ErrInterrupted) {
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
		c.list = append(c.list, listed{name: name, cells: []string{name}})
	}
	i, err := c.dialogue(s).ask(ctx, asker{Screen: s, ask: func(ctx context.Context, q prompt.Question) (prompt.Line, error) {
		s.Prompt(q.Label.Text)
		text, err := prompt.ReadPlainLine(in)
		s.PromptDone()
		return prompt.Line{Text: text}, cmp.Or(err, context.Cause(ctx))
	}})
	switch {
	case err != nil:
		return "", err
	case i == nothingChosen:
		return "", errors.New("no answer")
	}
	return names[i], nil
}
