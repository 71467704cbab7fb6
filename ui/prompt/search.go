package prompt

import (
	"fmt"
	"strings"
	"unicode"

	"artoo/tool/text"
)

// search is a search through the history while its pattern is typed.
type search struct {
	searchState
	before []searchState // Backspace goes back through them, one a character
}

type searchState struct {
	pattern string
	at      int // the entry that was found; len(history) for none yet
	failed  bool
}

// A search goes from its match to older or to newer entries.
const older, newer = -1, 1

func (kb *keyboard) startSearch() {
	kb.search = &search{searchState: searchState{at: len(kb.ed.history)}}
	if kb.spoken {
		kb.leaveRows()
		kb.screen.Prompt("")
	}
}

// searchKey is a key while the history is searched. It reports false for one that ended the
// search and is still to be carried out.
func (kb *keyboard) searchKey(k key) bool {
	s := kb.search
	switch k.kind {
	case keyText, keyPaste:
		typed := k.text
		if k.kind == keyPaste {
			typed = text.FirstLine(typed)
		}
		for typed != "" {
			n := clusterBytes(typed)
			s.before = append(s.before, s.searchState)
			s.pattern += typed[:n]
			s.find(kb.ed.history, min(s.at, len(kb.ed.history)-1), older)
			typed = typed[n:]
		}
		if s.failed {
			kb.canvas.beep()
		}
	case keyBackspace:
		if n := len(s.before) - 1; n >= 0 {
			s.searchState, s.before = s.before[n], s.before[:n]
		} else {
			kb.canvas.beep()
		}
	case keySearch:
		kb.searchOn(older)
	case keySearchBack:
		kb.searchOn(newer)
	case keyEdit, keyInterrupt: // Ctrl-G and Ctrl-C give the old line back
		kb.endSearch()
	case keyEscape, keyEOF:
		kb.acceptFound()
	case keyEnter:
		found := kb.acceptFound()
		// Unseen text is not sent: where rows are not drawn over, the line is
		// shown for the first time now.
		return kb.spoken || kb.vi != nil && kb.vi.normal && found // vi's / is a motion
	case keySuspend, keyQuit, keyClear:
		kb.control(k.kind)
	default:
		kb.acceptFound()
		return false
	}
	return true
}

func (kb *keyboard) searchOn(d int) {
	s := kb.search
	if s.pattern == "" && kb.sought != "" {
		s.before = append(s.before, s.searchState)
		s.pattern = kb.sought
	}
	if s.pattern == "" || !s.find(kb.ed.history, s.at+d, d) {
		kb.canvas.beep()
		return
	}
	if kb.spoken {
		kb.above(func() { kb.screen.Note("found: " + kb.ed.history[s.at].text) })
	}
}

// find looks for the pattern from an entry on, and passes over repetitions of the entry found
// last. It reports false, and stays where it is, if no entry matches.
func (s *search) find(history []entry, from, d int) bool {
	last := ""
	if s.at < len(history) && from != s.at {
		last = history[s.at].text
	}
	for i := from; i >= 0 && i < len(history); i += d {
		if matchAt(history[i].text, s.pattern) >= 0 && history[i].text != last {
			s.at, s.failed = i, false
			return true
		}
	}
	s.failed = true
	return false
}

// matchAt is where a pattern stands in a text, in bytes, or -1. Capitals count only where the
// pattern has some.
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

func (kb *keyboard) searchView() (label Label, text string, cursor int) {
	s := kb.search
	if kb.spoken {
		return Label{Text: "search: "}, s.pattern, len(s.pattern)
	}
	state := "search"
	if s.failed {
		state = "no more"
	}
	line, pos := kb.found()
	return Label{Text: fmt.Sprintf("(%s '%s'): ", state, display(s.pattern))}, kb.ed.shown(line), len(kb.ed.shown(line[:pos]))
}

// found is the line that was found, with the cursor at the match.
func (kb *keyboard) found() (line []rune, pos int) {
	s := kb.search
	if s.at >= len(kb.ed.history) {
		return kb.ed.Runes(), kb.ed.Pos()
	}
	line = kb.ed.called(s.at)
	if pos = kb.ed.runeAt(line, max(matchAt(kb.ed.history[s.at].text, s.pattern), 0)); pos < 0 { // within a collapsed paste
		pos = len(line)
	}
	return line, pos
}

// acceptFound ends the search with the found entry in the line, and reports whether there is
// one.
func (kb *keyboard) acceptFound() bool {
	found := kb.search.at < len(kb.ed.history)
	if found {
		kb.ed.set(kb.found())
	}
	kb.endSearch()
	return found
}

func (kb *keyboard) endSearch() {
	kb.sought = kb.search.pattern
	if kb.spoken {
		kb.leaveRows()
		kb.screen.Prompt("")
	}
	kb.search = nil
}
