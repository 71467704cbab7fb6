package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"artoo/agent"
	"artoo/tool/spelling"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// asker is where questions are asked: in the conversation, or on the controlling terminal.
type asker struct {
	*screen.Screen
	ask    func(ctx context.Context, q prompt.Question) (prompt.Line, error)
	page   func(text string)
	notify *Notifier // nil where the user is there
}

// onTTY asks on the controlling terminal, which the screen's Err must be; agent.ErrNobody where
// there is none, or another program has it.
func onTTY[Answer any](s *screen.Screen, notify *Notifier, ask func(asker) (Answer, error)) (a Answer, err error) {
	tty, err := prompt.OpenTTY(s)
	if err == nil {
		a, err = ask(asker{s, tty.Ask, s.Block, notify}) // a pager would take the Ctrl-C that stops the run
		if closed := tty.Close(); err == nil {
			err = closed
		}
	}
	if errors.Is(err, prompt.ErrNobody) {
		err = agent.ErrNobody
	}
	return a, err
}

// meaning is the meaning of an answer.
type meaning uint8

const (
	unclear  meaning = iota // no answer: ask again
	declines                // it allows nothing
	grants                  // it lets something happen
	edits                   // the user changes the object of the question
	pages                   // all of it is shown
	helps                   // the answers are explained
)

// Remarks to an answer that does not count.
const (
	cameEarly    = "keys typed before the question could be read are ignored; answer now"
	lookedPasted = "that looked pasted, so it was ignored; please type your answer"
	notAllShown  = "not everything was shown. Type p to see the rest; y counts after that"
)

// dialogue is a question that is asked until there is an answer. An answer that allows something
// has to be typed, alone and with its Enter, after all of the question was shown. An Enter behind keys that came too
// early for that is no answer either: it may belong to them.
type dialogue[Answer any] struct {
	// show prints the question and gives its last line; left says that a part of it was
	// left to the pager.
	show func() (line string, left bool)
	all  func() string // p shows it; nil where show prints everything
	help func()        // nil where ? is no answer
	hint string        // the remark to text that is no answer
	kept bool          // a no is kept: it has to be typed, too
	// read understands an answer; why describes its fault, "" for none.
	read func(text string) (a Answer, m meaning, why string)
	// edit lets the user change the object of the question; done is false where the question stays.
	edit func() (a Answer, done bool)
	// decided prints the answer; its zero value where none came. It may be nil.
	decided func(Answer)
}

// ask asks until there is an answer. The error says why none came.
func (d dialogue[Answer]) ask(ctx context.Context, at asker) (Answer, error) {
	line, left := d.show()
	q := prompt.Question{Label: at.label(line), IsAnswer: isAnswer}
	q.Again = func() prompt.Label {
		line, _ := d.show()
		q.Label = at.label(line)
		return q.Label
	}
	at.notify.Question()
	for {
		l, err := at.ask(ctx, q)
		if err != nil {
			var none Answer
			d.decide(none)
			return none, err
		}
		a, m, why := d.read(l.Text)
		switch {
		case l.Early && strings.TrimSpace(l.Text) == "":
			at.Note(cameEarly)
		case l.Burst && (m == grants || m == declines && d.kept):
			at.Note(lookedPasted)
		case m == grants && left:
			at.Note(notAllShown)
		case why != "":
			at.Note(why)
		case m == grants, m == declines:
			d.decide(a)
			return a, nil
		case m == pages && d.all != nil:
			at.page(d.all())
			left = false
		case m == helps && d.help != nil:
			d.help()
		case m == edits && d.edit != nil:
			if a, done := d.edit(); done {
				return a, nil
			}
		case d.hint != "":
			at.Note(d.hint)
		}
	}
}

func (d dialogue[Answer]) decide(a Answer) {
	if d.decided != nil {
		d.decided(a)
	}
}

func (at asker) label(line string) prompt.Label {
	l := label(at.Screen, line)
	l.Keys = len(line) - screen.AnswersAt(line)
	return l
}

// label is a prompt with its styles.
func label(s *screen.Screen, text string) prompt.Label {
	l := prompt.Label{Text: text, Indent: s.Indent(text)}
	s.Looks(text, func(bytes int, sgr string) { l.Looks = append(l.Looks, prompt.Look{Bytes: bytes, SGR: sgr}) })
	return l
}

// confirmation is the dialogue about a question whose keys the screen knows; read is missing.
func confirmation[Answer any](s *screen.Screen, q screen.Confirmation) dialogue[Answer] {
	keys := screen.Keys(q)
	d := dialogue[Answer]{
		show: func() (string, bool) { return s.Confirm(q) },
		help: func() { s.ConfirmHelp(q) },
		hint: "please answer " + strings.Join(keys, ", ") + " or ? (Enter means n)",
	}
	if slices.Contains(keys, "p") {
		d.all = func() string { return s.ConfirmAll(q) }
	}
	return d
}

// yesNo completes a dialogue that a yes or a no answers.
func yesNo(d dialogue[bool]) dialogue[bool] {
	d.hint = cmp.Or(d.hint, "please answer y, n or ? (Enter means n)")
	d.kept = true
	d.read = func(text string) (bool, meaning, string) {
		a, m := parseAnswer(strings.ToLower(text))
		if key := keyOf(a, m); key != "y" && key != "n" {
			m = unclear
		}
		return a.Verdict == agent.Yes, m, ""
	}
	return d
}

// yesOrNo is the dialogue about a question that a yes or a no decides.
func yesOrNo(s *screen.Screen, q screen.YesNo) dialogue[bool] {
	d := yesNo(confirmation[bool](s, q))
	d.decided = func(yes bool) { s.Confirmed(q, yes) }
	return d
}

// keyOf is the key that stands for an answer; n also for those that decide nothing.
func keyOf(a agent.Answer, m meaning) string {
	if m == edits {
		return "e"
	}
	return map[agent.Verdict]string{agent.Yes: "y", agent.No: "n", agent.YesForSession: "a",
		agent.YesForever: "A", agent.YesFresh: "f", agent.StopTurn: "q"}[a.Verdict]
}

func isAnswer(text string) bool {
	_, m := parseAnswer(text)
	return m != unclear
}

// parseAnswer reads an answer. Only an explicit yes approves: an empty line is no, and an
// unknown word is unclear. The case of letters matters, that of words does not.
func parseAnswer(text string) (agent.Answer, meaning) {
	word, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	rest = strings.TrimSpace(rest)
	if len(word) > 1 {
		word = strings.ToLower(word)
	}
	switch word {
	case "", "n", "no":
		return agent.Answer{Verdict: agent.No, Reason: rest}, declines
	case "a", "always":
		return agent.Answer{Verdict: agent.YesForSession, Rule: rest}, grants
	case "A", "forever":
		return agent.Answer{Verdict: agent.YesForever, Rule: rest}, grants
	}
	if rest != "" { // "yes but not now" is no yes
		return agent.Answer{}, unclear
	}
	switch word {
	case "y", "yes":
		return agent.Answer{Verdict: agent.Yes}, grants
	case "f", "fresh":
		return agent.Answer{Verdict: agent.YesFresh}, grants
	case "q", "quit":
		return agent.Answer{Verdict: agent.StopTurn}, declines
	case "e", "edit", "edits":
		return agent.Answer{}, edits
	case "p", "page":
		return agent.Answer{}, pages
	case "?", "help":
		return agent.Answer{}, helps
	}
	return agent.Answer{}, unclear
}

// choices are a list of which one is chosen by its number or a part of its name.
type choices struct {
	title string
	// prompt is the question below the list; "" asks which one.
	prompt string
	list   []listed
	// command gets a slash command that is typed in place of a choice; nil where there are none.
	command *string
}

// listed is one row of the list. Its text may come from outside.
type listed struct {
	name  string   // a typed part of it chooses it; all of it does where several hold the part
	also  string   // another name, which chooses it when all of it is typed; "" for none
	cells []string // they stand behind the number
	now   bool     // it holds at present
}

// listedChoices is how many rows a list shows.
const listedChoices = 20

// nothingChosen is the index that stands for Enter alone.
const nothingChosen = -1

func (c choices) all() []int {
	all := make([]int, len(c.list))
	for i := range all {
		all[i] = i
	}
	return all
}

// dialogue asks until one of the list is chosen: its index, or nothingChosen for an empty line, a no, and a command.
func (c choices) dialogue(s *screen.Screen) dialogue[int] {
	return dialogue[int]{
		show: func() (string, bool) {
			c.show(s, c.title, c.all())
			return cmp.Or(c.prompt, "number or part of the name (Enter: no change): "), false
		},
		read: func(typed string) (int, meaning, string) {
			typed = strings.TrimSpace(typed)
			if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(c.list) {
				return n - 1, declines, ""
			}
			found := c.find(typed)
			a, m := parseAnswer(typed)
			if typed == "" || m == declines && a.Reason == "" && !slices.ContainsFunc(found, c.named(typed)) {
				return nothingChosen, declines, ""
			}
			switch len(found) {
			case 0:
				if c.command != nil && strings.HasPrefix(typed, "/") {
					*c.command = typed
					return nothingChosen, declines, ""
				}
				why := "no match for " + strconv.Quote(oneLine(typed))
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

// show prints the rows of these indices under a title, each with its number.
func (c choices) show(s *screen.Screen, title string, indices []int) {
	s.Asks(title)
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
		s.Note(fmt.Sprintf("%d more; type part of a name to find them", more))
	}
}

// find returns the indices whose name holds text, in any case, or the one whose name it is.
func (c choices) find(text string) []int {
	var found []int
	for i, item := range c.list {
		if c.named(text)(i) {
			return []int{i}
		}
		if strings.Contains(strings.ToLower(item.name), strings.ToLower(text)) {
			found = append(found, i)
		}
	}
	return found
}

// named reports whether a text is all of a row's name.
func (c choices) named(text string) func(i int) bool {
	return func(i int) bool {
		return strings.EqualFold(c.list[i].name, text) || strings.EqualFold(c.list[i].also, text)
	}
}

func (c choices) nearest(text string) string {
	var names []string
	for _, item := range c.list {
		names = append(names, item.name)
	}
	return spelling.Nearest(text, names)
}

// Choose asks which of several things is meant, before a conversation begins. in is a terminal
// in its ordinary mode. No answer is an error.
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
