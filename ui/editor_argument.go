package ui

import "strings"

// lastArgument is the word that Alt-. put into the line, so that the key, typed
// again, puts an older one in its place.
type lastArgument struct {
	after snapshot
	back  int // how many lines back it was found; 0 for none
}

// insertArgument inserts the last word of the line before in the history, or, typed
// again, that of the next older one in its place. It reports false where no line
// has another.
func (e *editor) insertArgument() bool {
	back := 0
	if e.argument.after.same(e.snapshot()) {
		back = e.argument.back
	}
	again := back > 0
	for back++; back <= len(e.history); back++ {
		text := strings.TrimSpace(e.history[len(e.history)-back])
		from := strings.LastIndexAny(text, " \t\n") + 1
		if text == "" {
			continue
		}
		if again {
			e.undo()
		}
		e.put([]rune(e.collapse(text[from:])), e.wasPasted(e.history[len(e.history)-back], text[from:]), false)
		e.argument = lastArgument{e.snapshot(), back}
		return true
	}
	return false
}

// wasPasted says whether a part of the last word of an entry was pasted.
func (e *editor) wasPasted(entry, word string) bool {
	at := strings.LastIndex(entry, word)
	for _, s := range e.left[entry] {
		if s.From < at+len(word) && at < s.To {
			return true
		}
	}
	return false
}
