package screen

import (
	"math"
	"strings"
)

// row is the row of a reply that is being written, and the bytes that wait.
type row struct {
	opt     MarkdownOptions
	buf     []byte // rendered and not yet handed to Out
	guard   rowGuard
	width   int // prose breaks here; tables and code may take all of the guard's
	col     int
	style   style            // the one that is open; never at the end of a row
	link    string           // the address of the link that is open; never at the end of a row
	begins  map[style]string // how styles begin that were shown
	started bool             // the source line has put something on the screen
	written bool             // anything at all
	said    int              // bytes of buf up to the end of the last sentence or line; with Spoken only
}

func (r *row) measure() {
	r.guard.width = clampWidth(r.opt.Width())
	if r.width = min(r.guard.width, proseWidth); r.opt.Spoken {
		r.width = math.MaxInt32 // one row a line
	}
}

// room is how many cells the open row has left.
func (r *row) room() int { return r.guard.width - r.guard.col }

func (r *row) newline() {
	r.setLink("")
	r.setStyle(0)
	r.buf = append(r.buf, '\n')
	r.col = 0
	r.said = len(r.buf)
	r.guard.begin(len(r.buf))
}

func (r *row) setStyle(st style) {
	if r.style == st || !r.opt.Color {
		return
	}
	if r.style != 0 {
		r.buf = append(r.buf, endStyle()...)
	}
	begin, known := r.begins[st]
	if !known {
		if r.begins == nil {
			r.begins = map[style]string{}
		}
		begin = r.opt.Palette.begin(st)
		r.begins[st] = begin
	}
	if r.style = st; begin == "" {
		r.style = 0
	}
	r.buf = append(r.buf, begin...)
}

func (r *row) raw(s string) {
	var marks int
	r.buf, marks = r.guard.text(r.buf, s)
	r.col += cells(s) + marks
	if r.col == 0 && s != "" {
		r.col = 1 // a tab has no width of its own
	}
	r.started, r.written = true, true
}

func (r *row) put(t token) {
	r.setLink(t.link)
	r.setStyle(t.style)
	r.raw(t.text)
}

// setLink begins a link to an address, or ends one for "".
func (r *row) setLink(address string) {
	if r.link == address {
		return
	}
	if r.link != "" {
		r.buf = append(r.buf, "\x1b]8;;\x1b\\"...)
	}
	if r.link = address; address != "" {
		r.buf = append(append(append(r.buf, "\x1b]8;;"...), address...), "\x1b\\"...)
	}
}

// between writes the spaces before a word; between two words of one style or link they have it too.
func (r *row) between(w word, blanks int) {
	if r.link != w[0].link {
		r.setLink("")
	}
	if r.style != w[0].style {
		r.setStyle(0)
	}
	r.raw(strings.Repeat(" ", blanks))
}

func (r *row) phrase(words []word) {
	for i, w := range words {
		if i > 0 {
			r.between(w, 1)
		}
		for _, t := range w {
			r.put(t)
		}
	}
}

// labelLine gives the label its own row before text that must stand as it is.
func (r *row) labelLine() {
	if !r.written && r.opt.Label != "" {
		r.raw(strings.TrimRight(r.opt.Label, " "))
		r.newline()
	}
}
