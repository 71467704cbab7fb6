package screen

import (
	"strings"

	"artoo/ui/sanitize"
)

// wrap makes whole rows of one safe line of prose, broken at spaces; first begins it, next its
// further rows. A word wider than a row is left to the terminal, which keeps it in one piece
// for copying. Where rows are not seen, or are spoken, the line stays whole.
func (lay *layout) wrap(text, first, next string) string {
	return lay.wrapWords(text, first, next, func(text string) int { return strings.IndexByte(text, ' ') })
}

// wrapHint is wrap for a hint with a command in quotes, which stays in one row if it fits one.
func (lay *layout) wrapHint(hint, first, next string) string {
	return lay.wrapWords(hint, first, next, func(text string) int {
		if end := quotedEnd(text); cells(next)+cells(text[:end]) < lay.proseWidth() {
			return end
		}
		return strings.IndexByte(text, ' ')
	})
}

// quotedEnd is where the first word ends, quotes included. An apostrophe within a word is no
// quote.
func quotedEnd(text string) int {
	before := byte(' ')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ' ':
			return i
		case strings.IndexByte(`'"`, c) >= 0 && strings.IndexByte(" =(", before) >= 0:
			if n := strings.IndexByte(text[i+1:], c); n >= 0 {
				i += n + 1
			}
		}
		before = text[i]
	}
	return len(text)
}

// wrapWords is wrap for words whose end, or -1 for that of the text, wordEnd knows.
func (lay *layout) wrapWords(text, first, next string, wordEnd func(text string) int) string {
	text = lay.ascii(text) // it may get wider
	if !lay.opt.ErrTTY || lay.opt.Profile == Spoken || cells(first)+cells(text) < lay.proseWidth() {
		return strings.TrimRight(first+text, " ") + "\n"
	}
	var b strings.Builder
	b.WriteString(first)
	col, indent := cells(first), cells(next)
	fresh := true // nothing stands in the row but its margin
	for text != "" {
		blanks := len(text) - len(strings.TrimLeft(text, " "))
		end := wordEnd(text[blanks:])
		if end < 0 {
			end = len(text) - blanks
		}
		word := text[blanks : blanks+end]
		text = text[blanks+end:]
		if word == "" {
			break
		}
		switch width := cells(word); {
		case fresh, col+blanks+width < lay.proseWidth():
			b.WriteString(strings.Repeat(" ", blanks) + word)
			col += blanks + width
		default:
			b.WriteString("\n" + next + word)
			col = indent + width
		}
		fresh = false
	}
	return b.String() + "\n"
}

// prose makes whole rows of text of several lines, each after the margin and its own indent.
func (lay *layout) prose(text, margin string) string {
	text = strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n")
	if text == "" {
		return ""
	}
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if l == "" {
			b.WriteByte('\n')
			continue
		}
		words := strings.TrimLeft(l, " ")
		first := margin + l[:len(l)-len(words)]
		next := first
		if strings.HasPrefix(words, "- ") {
			next += "  "
		}
		if lay.opt.Profile == Spoken {
			first, next = margin, "" // a label, and an indent is not heard
		}
		b.WriteString(lay.wrap(words, first, next))
	}
	return b.String()
}

// hang is how many cells the text of a Row needs beside its head.
const hang = 20

// Row prints a row of a table: text after head, whose further rows stand below its beginning,
// or all of it below head where there is little room. head holds the spaces that align it.
func (s *Screen) Row(head, text string) {
	s.do(func(t *transcript) {
		first, next, rows := margin+sanitize.Text(head, sanitize.Line), "", ""
		text := s.layout.ascii(sanitize.Text(text, sanitize.Line))
		if s.opt.Profile == Spoken {
			first = strings.Join(strings.Fields(sanitize.Text(head, sanitize.Line)), " ") + ": "
		} else if next = strings.Repeat(" ", cells(first)); s.opt.ErrTTY && s.layout.proseWidth()-cells(first) < hang && cells(first+text) >= s.layout.proseWidth() {
			rows = s.layout.wrap(strings.TrimSpace(first), margin, margin+margin)
			first, next = margin+margin, margin+margin
		}
		if rows == "" || text != "" {
			rows += s.layout.wrap(text, first, next)
		}
		t.aside(rows)
	})
}
