package ui

import (
	"slices"
	"strings"
)

// completion is what Tab may put in place of a part of the text.
type completion struct {
	from, to   int // bytes of the text that a candidate replaces
	candidates []candidate
}

// candidate is one way to go on. Both come from outside in part (file names):
// they are sanitised before they are shown.
type candidate struct {
	text string // replaces the bytes; a closing blank is its own
	help string // beside it in a list; may be ""
}

// completer proposes candidates for a text with the cursor at a byte of it,
// within 50 ms. Called by the console's goroutine: it may not touch the console.
type completer func(text string, cursor int) completion

// completions is what may stand at the cursor: after a slash at the start of the
// text the names of the commands, then their arguments; after an @ files. It is
// a completer.
func (t *Terminal) completions(text string, cursor int) completion {
	cursor = min(max(cursor, 0), len(text))
	before := text[:cursor]
	if strings.HasPrefix(before, "/") && !strings.Contains(before, "\n") {
		if name, arg, inArg := strings.Cut(before[1:], " "); inArg {
			if c := t.completeArgument(name, arg, cursor); c.candidates != nil {
				return c
			}
		} else if !strings.Contains(name, "/") {
			return completeName(text, name, cursor)
		}
	}
	return t.access().complete(text, cursor, completeWait)
}

// completeName proposes commands by their names, and by an alias where no name
// begins so. The whole word under the cursor is replaced.
func completeName(text, typed string, cursor int) completion {
	end := cursor
	for end < len(text) && text[end] != ' ' && text[end] != '\n' {
		end++
	}
	blank := ""
	if end == len(text) {
		blank = " "
	}
	c := completion{from: 0, to: end}
	propose := func(name string, of command) {
		if strings.HasPrefix(name, typed) && of.run != nil {
			after := ""
			if of.args != "" {
				after = blank
			}
			c.candidates = append(c.candidates, candidate{text: "/" + name + after, help: of.help})
		}
	}
	for _, of := range commands() {
		propose(of.name, of)
	}
	if c.candidates == nil {
		for _, of := range commands() {
			for _, alias := range of.aliases {
				propose(alias, of)
			}
		}
	}
	slices.SortFunc(c.candidates, func(a, b candidate) int { return strings.Compare(a.text, b.text) })
	return c
}

// completeArgument proposes whole arguments of a command.
func (t *Terminal) completeArgument(name, arg string, cursor int) completion {
	of, ok := findCommand(name)
	if !ok || of.complete == nil {
		return completion{}
	}
	arg = strings.TrimLeft(arg, " ")
	c := completion{from: cursor - len(arg), to: cursor}
	for _, cand := range of.complete(t, arg) {
		if strings.HasPrefix(cand.text, arg) {
			c.candidates = append(c.candidates, cand)
		}
	}
	return c
}

// oneOf proposes arguments that are always the same.
func oneOf(list ...string) func(*Terminal, string) []candidate {
	return func(*Terminal, string) []candidate {
		all := make([]candidate, 0, len(list))
		for _, w := range list {
			all = append(all, candidate{text: w})
		}
		return all
	}
}
