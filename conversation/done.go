package conversation

import (
	"slices"
	"strings"

	"artoo/provider"
)

// Bounds of what is remembered of the steps that are no longer sent: the newest
// count. Of a command the first line is kept, this many characters of it.
const (
	doneFiles    = 60
	doneCommands = 30
	doneChars    = 120
	doneLeast    = 200  // bytes of the line that tells it, in the smallest windows
	doneMost     = 1500 // bytes of it in large ones
)

// done is what was done in the steps that are no longer sent. It is a value: and
// makes a new one.
type done struct {
	Files    []string  `json:"files,omitempty"`    // changed, the last one last
	Commands []command `json:"commands,omitempty"` // run, the last one last
	// OldFiles and OldCommands count those that are no longer named.
	OldFiles    int `json:"old_files,omitempty"`
	OldCommands int `json:"old_commands,omitempty"`
}

// command is a command with how it ended the last time it ran.
type command struct {
	Line string `json:"line"`
	End  string `json:"end,omitempty"`
}

func (d done) empty() bool { return len(d.Files) == 0 && len(d.Commands) == 0 }

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
	if old := len(d.Files) - doneFiles; old > 0 {
		d.Files, d.OldFiles = d.Files[old:], d.OldFiles+old
	}
	if old := len(d.Commands) - doneCommands; old > 0 {
		d.Commands, d.OldCommands = d.Commands[old:], d.OldCommands+old
	}
	return d
}

// firstLine is a command on one line.
func firstLine(text string) string {
	line, more, _ := strings.Cut(strings.TrimSpace(text), "\n")
	line = clip(strings.Join(strings.Fields(line), " "), doneChars, " ...")
	if strings.TrimSpace(more) != "" && !strings.HasSuffix(line, " ...") {
		line += " ..."
	}
	return line
}

// text tells it in a sentence of about most bytes, which names the newest; "" for
// nothing.
func (d done) text(most int) string {
	most = min(max(most, doneLeast), doneMost)
	ran := make([]string, len(d.Commands))
	for i, c := range d.Commands {
		if ran[i] = c.Line; c.End != "" {
			ran[i] += " (" + c.End + ")"
		}
	}
	var parts []string
	if len(d.Files) > 0 {
		share := most
		if len(ran) > 0 {
			share = most / 2
		}
		parts = append(parts, "you changed "+newest(d.Files, d.OldFiles, share, ", ", " file", " files"))
		most -= len(parts[0])
	}
	if len(ran) > 0 {
		parts = append(parts, "you ran "+newest(ran, d.OldCommands, most, "; ", " command", " commands"))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", and ") + "."
}

// newest names as many of the last of a list as most bytes hold, one at least,
// and counts the others, old more among them.
func newest(list []string, old, most int, between, one, many string) string {
	from := len(list) - 1
	for size := len(list[from]); from > 0; from-- {
		if size += len(between) + len(list[from-1]); size > most {
			break
		}
	}
	named := strings.Join(list[from:], between)
	if old += from; old > 0 {
		named = grouped(old) + " other" + plural(old, one, many) + between + named
	}
	return named
}
