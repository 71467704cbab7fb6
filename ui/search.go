package ui

import (
	"fmt"
	"strings"
	"unicode"
)

// search is a search through the history while its pattern is typed. The line
// itself is not changed before it ends.
type search struct {
	searchState
	before []searchState // of each character of the pattern, for Backspace
}

type searchState struct {
	pattern string
	at      int // which entry was found; len(history) for none yet
	failed  bool
}

// direction is where a search goes from what it found.
type direction int

const (
	older direction = -1
	newer direction = 1
)

// startSearch begins a search. Nothing is found before there is a pattern.
func (f *keyReader) startSearch() {
	f.search = &search{searchState: searchState{at: len(f.ed.history)}}
	if f.spoken {
		f.leaveRows()
		f.screen.Prompt("")
	}
}

// searchKey is a key while the history is searched. It reports false for one
// that ended the search and is still to be carried out.
func (f *keyReader) searchKey(k key) bool {
	s := f.search
	switch k.kind {
	case keyText, keyPaste:
		text := k.text
		if k.kind == keyPaste {
			text = firstLine(text)
		}
		for text != "" {
			n := clusterBytes(text)
			s.before = append(s.before, s.searchState)
			s.pattern += text[:n]
			s.find(f.ed.history, min(s.at, len(f.ed.history)-1), older)
			text = text[n:]
		}
		if s.failed {
			f.frame.beep()
		}
	case keyBackspace:
		if n := len(s.before) - 1; n >= 0 {
			s.searchState, s.before = s.before[n], s.before[:n]
		} else {
			f.frame.beep()
		}
	case keySearch:
		f.searchOn(older)
	case keySearchBack:
		f.searchOn(newer)
	case keyEdit, keyInterrupt: // Ctrl-G and Ctrl-C give the old line back
		f.endSearch()
	case keyEscape, keyEOF:
		f.acceptFound()
	case keyEnter:
		found := f.acceptFound()
		// What was not seen is not sent: where rows are not drawn over, the line
		// is shown for the first time now.
		return f.spoken || f.viSearch(found)
	case keySuspend, keyQuit, keyClear:
		f.control(k.kind)
	default:
		f.acceptFound()
		return false
	}
	return true
}

// viSearch says whether Enter only ends the search: vi's / is a motion.
func (f *keyReader) viSearch(found bool) bool { return f.vi != nil && f.vi.normal && found }

// searchOn looks for the next entry that matches.
func (f *keyReader) searchOn(d direction) {
	s := f.search
	if s.pattern == "" && f.sought != "" {
		s.before = append(s.before, s.searchState)
		s.pattern = f.sought
	}
	if s.pattern == "" || !s.find(f.ed.history, s.at+int(d), d) {
		f.frame.beep()
		return
	}
	if f.spoken {
		found := f.ed.history[s.at]
		f.above(func() { f.screen.Note("found: " + found) })
	}
}

// find looks for the pattern from an entry on. A repetition of what was found
// last is passed over. It reports false, and stays where it is, when there is
// nothing.
func (s *search) find(history []string, from int, d direction) bool {
	last := ""
	if s.at < len(history) && from != s.at {
		last = history[s.at]
	}
	for i := from; i >= 0 && i < len(history); i += int(d) {
		if matchAt(history[i], s.pattern) >= 0 && history[i] != last {
			s.at, s.failed = i, false
			return true
		}
	}
	s.failed = true
	return false
}

// matchAt is where a pattern stands in a text, in bytes; -1 if it does not.
// Capitals count only where the pattern has some.
func matchAt(text, pattern string) int {
	if i := strings.Index(text, pattern); i >= 0 || strings.ContainsFunc(pattern, unicode.IsUpper) {
		return i
	}
	lower := strings.ToLower(text)
	i := strings.Index(lower, pattern)
	if i > 0 && len(lower) != len(text) { // letters whose other case is longer
		return 0
	}
	return i
}

// searchView is what is shown while searching.
func (f *keyReader) searchView() (prompt, text string, cursor int) {
	s := f.search
	if f.spoken {
		return "search: ", s.pattern, len(s.pattern)
	}
	prompt = "search"
	if s.failed {
		prompt = "no more"
	}
	prompt = fmt.Sprintf("(%s '%s'): ", prompt, f.display(s.pattern))
	line, pos := f.found()
	return prompt, f.ed.shown(line), len(f.ed.shown(line[:pos]))
}

// found is the line the search has come to, with the cursor at what matches.
func (f *keyReader) found() (line []rune, pos int) {
	s := f.search
	if s.at >= len(f.ed.history) {
		return f.ed.line, f.ed.pos
	}
	entry := f.ed.history[s.at]
	line = f.ed.entry(entry)
	if pos = f.ed.runeAt(line, max(matchAt(entry, s.pattern), 0)); pos < 0 { // within a collapsed paste
		pos = len(line)
	}
	return line, pos
}

// acceptFound ends the search with what it found in the line. It reports
// whether there was anything.
func (f *keyReader) acceptFound() bool {
	found := f.search.at < len(f.ed.history)
	if found {
		line, pos := f.found()
		f.ed.edit(func([]rune, int) ([]rune, int) { return line, pos })
		f.ed.pasted = f.ed.marksOf(line, f.ed.left[f.ed.text()])
	}
	f.endSearch()
	return found
}

// endSearch shows the line again.
func (f *keyReader) endSearch() {
	f.sought = f.search.pattern
	if f.spoken {
		f.leaveRows()
		f.screen.Prompt("")
	}
	f.search = nil
}
