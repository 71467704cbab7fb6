package conversation

import (
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

// Bounds of what is remembered of the steps that are no longer sent: the newest
// count. Of a command the first line is kept, this many characters of it.
const (
	doneFiles    = 60
	doneCommands = 30
	doneDecided  = 12
	doneSaid     = 8
	doneChars    = 120  // also of a sentence
	doneLeast    = 200  // bytes of the line that tells it, in the smallest windows
	doneMost     = 1500 // bytes of it in large ones
)

// done is what was done in the steps that are no longer sent. It is a value: and
// makes a new one.
type done struct {
	Files    []string  `json:"files,omitempty"`    // changed, the last one last
	Commands []command `json:"commands,omitempty"` // run, the last one last
	Decided  []string  `json:"decided,omitempty"`  // the user's decisions, the last one last
	Said     []string  `json:"said,omitempty"`     // how the model's texts begin
	// OldFiles and OldCommands count those that are no longer named.
	OldFiles    int `json:"old_files,omitempty"`
	OldCommands int `json:"old_commands,omitempty"`
}

// command is a command with how it ended the last time it ran.
type command struct {
	Line string `json:"line"`
	End  string `json:"end,omitempty"`
}

func (d done) empty() bool {
	return len(d.Files) == 0 && len(d.Commands) == 0 && len(d.Decided) == 0 && len(d.Said) == 0
}

// and is what was done with one more call. What was done before stands once, at
// its last place.
func (d done) and(e provider.Effect) done {
	d.Files, d.Commands = slices.Clone(d.Files), slices.Clone(d.Commands)
	for _, name := range e.Files {
		d.Files = append(slices.DeleteFunc(d.Files, func(f string) bool { return f == name }), name)
	}
	if line := firstLine(e.Command); line != "" {
		d.Commands = append(slices.DeleteFunc(d.Commands, func(c command) bool { return c.Line == line }),
			command{line, e.End})
	}
	d.Decided = withLast(d.Decided, e.Decided, doneDecided)
	if old := len(d.Files) - doneFiles; old > 0 {
		d.Files, d.OldFiles = d.Files[old:], d.OldFiles+old
	}
	if old := len(d.Commands) - doneCommands; old > 0 {
		d.Commands, d.OldCommands = d.Commands[old:], d.OldCommands+old
	}
	return d
}

// saying is what was done with one more text of the model: how it begins tells what
// it was about to do, or what it found.
func (d done) saying(text string) done {
	d.Said = withLast(d.Said, sentence(text), doneSaid)
	return d
}

// withLast is the list with a sentence at its end, at most so many; "" adds nothing.
func withLast(list []string, text string, most int) []string {
	if text = firstLine(text); text == "" {
		return list
	}
	list = append(slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == text }), text)
	return list[max(0, len(list)-most):]
}

// sentence is the first one of a text.
func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return text
}

// firstLine is a command on one line.
func firstLine(command string) string {
	line := strings.Join(strings.Fields(text.FirstLine(command)), " ")
	if strings.Contains(strings.TrimSpace(command), "\n") {
		line += " …"
	}
	return text.Clip(line, doneChars)
}

// doneList is a list as it is told.
type doneList struct {
	head, between, noun string
	list                []string
	old                 int // number of entries dropped from it
}

// text tells it in a sentence of about most bytes, which names the newest; "" for
// nothing. Each list may have its part of what those before it left.
func (d done) text(most int) string {
	most = min(max(most, doneLeast), doneMost)
	ran := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		if ran[i] = c.Line; c.End != "" {
			ran[i] += " (" + c.End + ")"
		}
	}
	lists := []doneList{
		{"you changed ", ", ", "file", d.Files, d.OldFiles},
		{"you ran ", "; ", "command", ran, d.OldCommands},
		{"the user decided: ", "; ", "one", d.Decided, 0},
		{"you said: ", " / ", "text", d.Said, 0},
	}
	lists = slices.DeleteFunc(lists, func(l doneList) bool { return len(l.list) == 0 })
	var parts []string
	for i, l := range lists {
		parts = append(parts, l.head+l.newest(most/(len(lists)-i)))
		most -= len(parts[i])
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.TrimSuffix(strings.Join(parts, ", and "), ".") + "."
}

// newest names as many of the last of the list as most bytes hold, one at least,
// and counts the others.
func (l doneList) newest(most int) string {
	from := len(l.list) - 1
	for size := len(l.list[from]); from > 0; from-- {
		if size += len(l.between) + len(l.list[from-1]); size > most {
			break
		}
	}
	named := strings.Join(l.list[from:], l.between)
	if old := l.old + from; old > 0 {
		named = text.Count(old, "other "+l.noun) + l.between + named
	}
	return named
}
