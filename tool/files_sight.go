package tool

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// sight is what the model knows of a file: what it was like when it was last
// read or written here, and which of its lines were shown.
type sight struct {
	State
	whole bool
	lines []lineSpan // those shown of a file that is not whole; in order, apart
	of    int        // lines the file has, 0 when unknown
	cells []lineSpan // those shown of a notebook, by their numbers; in order, apart
	// body is the text as it was shown, "" when it was not kept.
	body string
	kept bool
	// ours is what a command of the model's own made of the file since, nil for
	// nothing.
	ours *State
}

// lineSpan is a run of lines, counted from 1, to excluded.
type lineSpan struct{ from, to int }

// sightOf is what the model knows of the file at abs (a Place.Abs); ok is false
// for a file this session neither read nor wrote.
func (f *Files) sightOf(abs string) (s sight, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok = f.seen[abs]
	return s, ok
}

// Bounds of the texts that are kept to tell what others changed, in bytes: of
// one file, and of all.
const (
	maxKeptText  = 256 << 10
	maxKeptTexts = 8 << 20
)

func (f *Files) keepSight(abs string, s sight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.keptBytes -= len(f.seen[abs].body)
	if len(s.body) > maxKeptText || f.keptBytes+len(s.body) > maxKeptTexts {
		s.body, s.kept = "", false
	}
	f.keptBytes += len(s.body)
	f.seen[abs] = s
}

// rememberPage adds what was shown of a file to what was shown before, if that
// was of the same content.
func (f *Files) rememberPage(abs string, now sight) {
	if old, ok := f.sightOf(abs); ok && !now.whole && old.Same(now.State) {
		if now.whole = old.whole; !now.whole {
			now.lines = joinSpans(append(slices.Clone(old.lines), now.lines...))
			now.cells = joinSpans(append(slices.Clone(old.cells), now.cells...))
		}
		if !now.kept {
			now.body, now.kept = old.body, old.kept
		}
	}
	if one := now.lines; now.of > 0 && len(one) == 1 && one[0] == (lineSpan{1, now.of + 1}) {
		now.whole = true
	}
	f.keepSight(abs, now)
}

// joinSpans puts spans in order and joins those that touch.
func joinSpans(spans []lineSpan) []lineSpan {
	slices.SortFunc(spans, func(a, b lineSpan) int { return a.from - b.from })
	var joined []lineSpan
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.from <= joined[last].to {
			joined[last].to = max(joined[last].to, s.to)
		} else if s.from < s.to {
			joined = append(joined, s)
		}
	}
	return joined
}

// showsCell reports whether the model has seen the source of a notebook's cell.
func (s sight) showsCell(number int) bool {
	return s.whole || slices.ContainsFunc(s.cells, func(c lineSpan) bool { return c.from <= number && number < c.to })
}

// unseen is what keeps the file from being replaced as a whole, in words; "" if
// nothing does.
func (s sight) unseen() string {
	if s.whole {
		return ""
	}
	next, to := 1, s.of
	if len(s.lines) > 0 && s.lines[0].from == 1 {
		next = s.lines[0].to
		if len(s.lines) > 1 {
			to = s.lines[1].from - 1
		}
	} else if len(s.lines) > 0 {
		to = s.lines[0].from - 1
	}
	if s.of == 0 {
		return "was not shown as the text it is; change a part of it with edit"
	}
	if next == to {
		return fmt.Sprintf("line %d of %d was not shown whole, and would be lost; read it first (offset=%d), or "+
			"change a part with edit, as of a line too long to be shown",
			next, s.of, next)
	}
	return fmt.Sprintf("lines %d-%d of %d were not shown whole, and would be lost; read them first (offset=%d), or "+
		"change a part with edit", next, to, s.of, next)
}

// after is what the model knows once a change it made is done: what it wrote,
// and what it knew of the rest.
func (s sight) after(c change, now State) sight {
	next := sight{State: now, whole: s.whole || c.state.Missing, body: c.text, kept: true, cells: c.cells.apply(s.cells)}
	if next.whole {
		return next
	}
	next.of = countLines(c.text)
	line, shift := 1, 0 // the line of the old file reached, and how far it has moved
	keep := func(to int) {
		for _, span := range s.lines {
			part := lineSpan{max(span.from, line) + shift, min(span.to, to) + shift}
			if part.from < part.to {
				next.lines = append(next.lines, part)
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
				next.lines = append(next.lines, lineSpan{line + shift, line + shift + 1})
				shift++
			}
		}
	}
	keep(countLines(c.before) + 1)
	next.lines = joinSpans(next.lines)
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
	if c.more = c.more || c.raw.Len()+len(p) > maxKeptText; !c.more {
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
	text, err := decodeText(c.raw.Bytes())
	return text.body, err == nil
}
