package builtin

import (
	"bytes"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"artoo/tool/files"
)

// sightAfter is what the model knows once a change it made is done: what it wrote, and
// what it knew of the rest.
func sightAfter(s files.Sight, c change, now files.State) files.Sight {
	next := files.Sight{State: now, Whole: s.Whole || c.state.Missing, Body: c.text, Kept: true, Cells: c.cells.apply(s.Cells)}
	if next.Whole {
		return next
	}
	next.Of = countLines(c.text)
	line, shift := 1, 0 // the line of the old file reached, and how far it has moved
	keep := func(to int) {
		for _, span := range s.Lines {
			part := files.Span{From: max(span.From, line) + shift, To: min(span.To, to) + shift}
			if part.From < part.To {
				next.Lines = append(next.Lines, part)
			}
		}
		line = max(line, to)
	}
	for _, h := range c.unified.Hunks {
		keep(h.FromLine)
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Equal:
				keep(line + 1)
			case udiff.Delete:
				line++
				shift--
			case udiff.Insert:
				next.Lines = append(next.Lines, files.Span{From: line + shift, To: line + shift + 1})
				shift++
			}
		}
	}
	keep(countLines(c.before) + 1)
	next.Lines = files.JoinSpans(next.Lines)
	return next
}

// countLines is how many lines read would show of a text.
func countLines(text string) int {
	n := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// textCopy keeps what is written to it, up to the size of which texts are kept.
type textCopy struct {
	raw  bytes.Buffer
	more bool
}

// Write implements io.Writer; it cannot fail.
func (c *textCopy) Write(p []byte) (int, error) {
	if c.more = c.more || c.raw.Len()+len(p) > files.MaxKeptText; !c.more {
		c.raw.Write(p)
	}
	return len(p), nil
}

// text is the copy in the form models read it; ok is false where it was too long
// or is no text.
func (c *textCopy) text() (body string, ok bool) {
	if c.more {
		return "", false
	}
	text, err := files.Decode(c.raw.Bytes())
	return text.Body, err == nil
}
