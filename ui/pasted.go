package ui

import (
	"slices"
	"strings"
	"unicode"
)

// Span is a part of a text: the bytes from From to before To.
type Span struct{ From, To int }

// draft is text for a prompt to begin with.
type draft struct {
	text   string
	pasted []Span // what of it was pasted, in order
}

// allPasted is text that is to be taken as pasted, from its start to its end.
func allPasted(text string) draft { return draft{text, []Span{{0, len(text)}}} }

// join puts another draft below.
func (d draft) join(below draft) draft {
	switch {
	case d.text == "":
		return below
	case below.text == "":
		return d
	}
	at := len(d.text) + 1
	joined := draft{d.text + "\n" + below.text, slices.Clone(d.pasted)}
	for _, s := range below.pasted {
		joined.pasted = append(joined.pasted, Span{s.From + at, s.To + at})
	}
	return joined
}

// inSpans says whether a byte of a text lies in one of the spans.
func inSpans(spans []Span, at int) bool {
	return slices.ContainsFunc(spans, func(s Span) bool { return s.From <= at && at < s.To })
}

// pastedAt says whether a rune of the line was pasted.
func (s snapshot) pastedAt(i int) bool { return i < len(s.pasted) && s.pasted[i] }

// anyPasted says whether one of the runes from:to was pasted.
func (s snapshot) anyPasted(from, to int) bool {
	return slices.Contains(s.pasted[min(from, len(s.pasted)):min(to, len(s.pasted))], true)
}

// follow says which runes of a line that was changed are pasted. What stayed as
// it was stays what it was; what is new is pasted if fresh says so, or if
// something pasted stood in its place. Among equal characters it is the cursor
// that tells which of them are new.
func (s snapshot) follow(line []rune, pos int, fresh bool) []bool {
	if !fresh && !slices.Contains(s.pasted, true) {
		return nil
	}
	shorter := min(len(s.line), len(line))
	same := func(from, most int) int {
		for from < most && s.line[from] == line[from] {
			from++
		}
		return from
	}
	start, tail := same(0, min(s.pos, pos, shorter)), 0
	for tail < shorter-start && s.line[len(s.line)-1-tail] == line[len(line)-1-tail] {
		tail++
	}
	start = same(start, shorter-tail)
	fresh = fresh || s.anyPasted(start, len(s.line)-tail)
	marks := make([]bool, len(line))
	for i := range marks {
		switch {
		case i < start:
			marks[i] = s.pastedAt(i)
		case i < len(line)-tail:
			marks[i] = fresh
		default:
			marks[i] = s.pastedAt(i - len(line) + len(s.line))
		}
	}
	return marks
}

// pastedStart says that the text begins with something pasted: it is then no
// command, whatever it looks like.
func (e *editor) pastedStart() bool {
	for i, r := range e.line {
		if !unicode.IsSpace(r) {
			return e.snapshot().pastedAt(i)
		}
	}
	return false
}

// draft is the text in full, with what of it was pasted. What was called back
// as one mark from another session counts as pasted: it cannot be seen what
// stands in it, nor known how it got there.
func (e *editor) draft() draft {
	var d draft
	var b strings.Builder
	for i, r := range e.line {
		from := b.Len()
		b.WriteString(e.whole(e.line[i : i+1]))
		if e.pasted != nil && e.pasted[i] || r >= markPaste && int(r-markPaste) < e.otherSessions {
			if last := len(d.pasted) - 1; last >= 0 && d.pasted[last].To == from {
				d.pasted[last].To = b.Len()
			} else {
				d.pasted = append(d.pasted, Span{from, b.Len()})
			}
		}
	}
	d.text = b.String()
	return d
}

// runes is a draft as a line: what is big in it collapsed, what was pasted apart
// from what was typed.
func (e *editor) runes(d draft) []rune {
	var line []rune
	at := 0
	for _, s := range d.pasted {
		line = append(line, []rune(e.collapse(d.text[at:s.From])+e.collapse(d.text[s.From:s.To]))...)
		at = s.To
	}
	return append(line, []rune(e.collapse(d.text[at:]))...)
}

// marksOf says which runes of a line were pasted, by the bytes of its text in
// full.
func (e *editor) marksOf(line []rune, spans []Span) []bool {
	if len(spans) == 0 {
		return nil
	}
	marks := make([]bool, len(line))
	at := 0
	for i := range line {
		n := len(e.whole(line[i : i+1]))
		marks[i] = slices.ContainsFunc(spans, func(s Span) bool { return s.From < at+n && at < s.To })
		at += n
	}
	return marks
}

// load replaces the whole line by a draft, with the cursor at its end.
func (e *editor) load(d draft) {
	runes := e.runes(d)
	e.edit(func([]rune, int) ([]rune, int) { return runes, len(runes) })
	e.pasted = e.marksOf(runes, d.pasted)
}

// leave remembers what of the line was pasted, for when it is called back.
func (e *editor) leave() {
	d := e.draft()
	if len(d.pasted) == 0 {
		delete(e.left, d.text)
		return
	}
	if e.left == nil {
		e.left = map[string][]Span{}
	}
	e.left[d.text] = d.pasted
}

// entry is an entry of the history as a line.
func (e *editor) entry(text string) []rune { return e.runes(draft{text, e.left[text]}) }

// forget drops what is known of lines that can no longer be called back.
func (e *editor) forget() {
	for text := range e.left {
		if !slices.Contains(e.history, text) {
			delete(e.left, text)
		}
	}
}
