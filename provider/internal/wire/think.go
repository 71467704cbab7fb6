package wire

import "strings"

// The marks that models write around their reasoning.
const (
	thinkOpens  = "<think>"
	thinkCloses = "</think>"
)

// Thinker separates the reasoning that a text begins with, between its marks, from the answer.
type Thinker struct {
	held   string // may be a mark, or the spaces before one
	within bool   // the opening mark came
	blank  bool   // only spaces came after the closing mark
	over   bool   // the answer has begun
}

// Split takes the next piece and returns its text so far; the rest is held back.
func (t *Thinker) Split(piece string) (thought, answer string) {
	switch {
	case t.blank:
		answer = strings.TrimLeft(piece, "\r\n")
		t.blank = answer == ""
		return "", answer
	case t.over:
		return "", piece
	}
	text := t.held + piece
	t.held = ""
	if !t.within {
		begins := strings.TrimLeft(text, " \t\r\n")
		rest, opened := strings.CutPrefix(begins, thinkOpens)
		switch {
		case opened:
			t.within, text = true, rest
		case strings.HasPrefix(thinkOpens, begins):
			t.held = text
			return "", ""
		default:
			t.over = true
			return "", text
		}
	}
	thought, answer, closed := strings.Cut(text, thinkCloses)
	if closed {
		t.over, t.blank = true, true
		_, answer = t.Split(answer)
		return thought, answer
	}
	for n := min(len(text), len(thinkCloses)-1); n > 0; n-- {
		if strings.HasSuffix(text, thinkCloses[:n]) {
			t.held = text[len(text)-n:]
			break
		}
	}
	return text[:len(text)-len(t.held)], ""
}

// End returns the text held back when nothing follows.
func (t *Thinker) End() (thought, answer string) {
	text := t.held
	t.held, t.over = "", true
	if t.within {
		return text, ""
	}
	return "", text
}
