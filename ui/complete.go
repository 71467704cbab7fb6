package ui

import (
	"context"
	"slices"
	"strings"
	"time"

	"artoo/tool"
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

// How long completing a file name may take, and how many names are proposed of
// one directory and of all below it.
const (
	completeWait = 40 * time.Millisecond
	maxNames     = 1000
	maxFound     = 50
)

// complete is a completer: it proposes the files that the @ word before the
// cursor may be meant to name, as many as it finds while wait lasts, and nothing
// where there is no such word. A word without a slash that no name here begins
// with is looked for in all directories below.
func (a fileAccess) complete(text string, cursor int, wait time.Duration) completion {
	w, ok := wordAt(text[:cursor])
	if !ok || a.env.Files == nil {
		return completion{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c := completion{from: w.from, to: cursor}
	after := text[cursor:]
	if w.quoted && strings.HasPrefix(after, `"`) {
		c.to, after = c.to+1, after[1:]
	}
	dir, entries := a.entries(ctx, w.path)
	for _, e := range entries {
		c.candidates = append(c.candidates, w.candidate(dir, e, strings.HasPrefix(after, " ")))
	}
	return c
}

// wordAt is the @ word that the text ends with, still open.
func wordAt(text string) (atWord, bool) {
	if strings.HasSuffix(text, "@") && beginsWord(text[:len(text)-1]) {
		return atWord{from: len(text) - 1, to: len(text)}, true
	}
	words := atWords(text, nil)
	if len(words) == 0 {
		return atWord{}, false
	}
	w := words[len(words)-1]
	return w, w.to == len(text) && !w.literal && w.quoted == w.open
}

// entries finds what the path may go on as: dir is the part of it that stays,
// with its slash. What cannot be read has no entries.
func (a fileAccess) entries(ctx context.Context, path string) (dir string, entries []tool.NameEntry) {
	cut := strings.LastIndexByte(path, '/') + 1
	dir, prefix := path[:cut], path[cut:]
	if prefix == ".." {
		return dir, []tool.NameEntry{{Path: prefix, Dir: true}}
	}
	from := a.env.Dir
	if dir != "" {
		from = a.abs(dir)
	}
	// A directory that is missing, denied or outside proposes nothing, and there
	// is no place to say so while someone types.
	entries, err := a.env.Files.Names(ctx, from, prefix, maxNames)
	if err == nil && len(entries) == 0 && dir == "" {
		entries, err = a.env.Files.Find(ctx, from, prefix, maxFound)
	}
	if err != nil {
		return dir, nil
	}
	return dir, entries
}

// candidate is the entry as the word would be written; a directory is left open
// for what is below it.
func (w atWord) candidate(dir string, e tool.NameEntry, blank bool) candidate {
	path := dir + e.Path
	if e.Dir {
		path += "/"
	}
	c := candidate{text: "@" + escapeAt(path, w.quoted)}
	if w.quoted {
		c.text = `@"` + escapeAt(path, true)
	}
	if !e.Dir {
		if w.quoted {
			c.text += `"`
		}
		if !blank {
			c.text += " "
		}
	}
	if e.Ignored {
		c.help = "ignored"
	}
	return c
}
