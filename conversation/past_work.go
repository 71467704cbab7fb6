package conversation

import (
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool/text"
)

// Bounds of what is remembered of the dropped steps; the newest count.
const (
	pastFiles    = 60
	pastCommands = 30
	pastDecided  = 12
	pastSaid     = 8
	pastChars    = 120  // also of a sentence
	pastLeast    = 200  // bytes of the line that tells it, in the smallest windows
	pastMost     = 1500 // bytes of it in large ones
)

// pastWork is the work in the steps that are no longer sent, a value.
type pastWork struct {
	Files    []string  `json:"files,omitempty"`    // changed, the last one last
	Commands []command `json:"commands,omitempty"` // run, the last one last
	Decided  []string  `json:"decided,omitempty"`  // the user's decisions, the last one last
	Said     []string  `json:"said,omitempty"`     // how the model's texts begin
	// OldFiles and OldCommands count those that are no longer named.
	OldFiles    int `json:"old_files,omitempty"`
	OldCommands int `json:"old_commands,omitempty"`
}

type command struct {
	Line string `json:"line"`
	End  string `json:"end,omitempty"`
}

func (d pastWork) empty() bool {
	return len(d.Files) == 0 && len(d.Commands) == 0 && len(d.Decided) == 0 && len(d.Said) == 0
}

// and adds a call's effect. A repeated file or command moves to the end.
func (d pastWork) and(e provider.Effect) pastWork {
	d.Files, d.Commands = slices.Clone(d.Files), slices.Clone(d.Commands)
	for _, name := range e.Files {
		d.Files = append(slices.DeleteFunc(d.Files, func(f string) bool { return f == name }), name)
	}
	if line := firstLine(e.Command); line != "" {
		d.Commands = append(slices.DeleteFunc(d.Commands, func(c command) bool { return c.Line == line }),
			command{line, e.End})
	}
	d.Decided = withLast(d.Decided, e.Decided, pastDecided)
	if old := len(d.Files) - pastFiles; old > 0 {
		d.Files, d.OldFiles = d.Files[old:], d.OldFiles+old
	}
	if old := len(d.Commands) - pastCommands; old > 0 {
		d.Commands, d.OldCommands = d.Commands[old:], d.OldCommands+old
	}
	return d
}

// saying adds the beginning of a text of the model.
func (d pastWork) saying(text string) pastWork {
	d.Said = withLast(d.Said, sentence(text), pastSaid)
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

func sentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if i := strings.Index(text, ". "); i > 0 {
		text = text[:i+1]
	}
	return text
}

func firstLine(command string) string {
	line := strings.Join(strings.Fields(text.FirstLine(command)), " ")
	if strings.Contains(strings.TrimSpace(command), "\n") {
		line += " …"
	}
	return text.Clip(line, pastChars)
}

type pastList struct {
	head, between, noun string
	list                []string
	old                 int // number of entries dropped from it
}

// text is a sentence of about most bytes with the newest work, or "". A list may use room that others left.
func (d pastWork) text(most int) string {
	most = min(max(most, pastLeast), pastMost)
	ran := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		if ran[i] = c.Line; c.End != "" {
			ran[i] += " (" + c.End + ")"
		}
	}
	lists := []pastList{
		{"you changed ", ", ", "file", d.Files, d.OldFiles},
		{"you ran ", "; ", "command", ran, d.OldCommands},
		{"the user decided: ", "; ", "one", d.Decided, 0},
		{"you said: ", " / ", "text", d.Said, 0},
	}
	lists = slices.DeleteFunc(lists, func(l pastList) bool { return len(l.list) == 0 })
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

// newest names the last of the list within most bytes, at least one, and counts the others.
func (l pastList) newest(most int) string {
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
