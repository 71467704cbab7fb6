package wire

import (
	"strings"
	"unicode/utf8"
)

// Repeated reads events that differ from the one before only in a piece of text without decoding
// them: most of the work in a long answer. The zero value is ready, for one goroutine.
type Repeated struct {
	head, tail string // around the text, the quotes included
	block      int
	sure       bool // a second event was decoded as expected
	misses     int  // consecutive misses
}

// maxMisses is after how many misses it gives up: some servers put a time into each event.
const maxMisses = 16

// Text is the text of an event if nothing else is new in it, and the block that Learn was given.
func (r *Repeated) Text(data string) (text string, block int, ok bool) {
	if !r.sure {
		return "", 0, false
	}
	text, ok = r.match(data)
	return text, r.block, ok
}

// Learn takes an event that brought nothing but a text for the given block.
func (r *Repeated) Learn(data, text string, block int) {
	if r.misses > maxMisses || text == "" || !verbatim(text) {
		return
	}
	if found, ok := r.match(data); ok && found == text && r.block == block {
		r.sure, r.misses = true, 0
		return
	}
	*r = Repeated{misses: r.misses + 1, block: block}
	literal := `"` + text + `"`
	if at := strings.Index(data, literal); at > 0 && strings.LastIndex(data, literal) == at {
		r.head, r.tail = data[:at+1], data[at+len(literal)-1:]
	}
}

func (r *Repeated) match(data string) (text string, ok bool) {
	if r.head == "" || len(data) <= len(r.head)+len(r.tail) || !strings.HasPrefix(data, r.head) ||
		!strings.HasSuffix(data, r.tail) {
		return "", false
	}
	text = data[len(r.head) : len(data)-len(r.tail)]
	return text, verbatim(text)
}

// verbatim reports whether a text stands in JSON as it is.
func verbatim(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}
