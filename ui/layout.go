package ui

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"artoo/ui/screen"
)

// row is one row of the prompt as it stands on the screen.
type row struct {
	text  string
	width int // cells
	bold  int // how many bytes of its beginning are bold
}

// layout breaks a prompt and the edited text into rows, and finds the cursor.
type layout struct {
	rows     []row
	row, col int // the cursor's cell
}

// lineIndent begins the further lines of a text of several lines, below the
// first one's beginning.
const lineIndent = screen.YouIndent

// tabCells is how a tab within an edited line is shown: as blanks, since a real
// one would depend on the column.
const tabCells = "    "

// place lays out prompt and text in rows of at most cols cells. cursor is a
// byte offset into text. The last column stays free: what a terminal does after
// writing there differs, and moving away from it is wrong on half of them.
// display turns what came from outside into what may be shown.
func place(prompt, text string, cursor, cols int, display func(string) string) layout {
	p := placer{cols: max(cols-1, 2)}
	p.words(prompt)
	for {
		line, rest, more := strings.Cut(text, "\n")
		if cursor >= 0 && cursor <= len(line) {
			p.withCursor(line, cursor, display)
		} else {
			p.put(display(line), -1)
		}
		if !more {
			break
		}
		cursor -= len(line) + 1
		text = rest
		p.end()
		p.put(lineIndent, -1)
	}
	p.end()
	return p.layout
}

type placer struct {
	layout
	cols int
	b    strings.Builder
	col_ int
}

// withCursor puts a line with the cursor before one of its bytes. The line is
// measured as a whole: a character may join with the one on the cursor's other
// side.
func (p *placer) withCursor(line string, cursor int, display func(string) string) {
	shown, before := display(line), display(line[:cursor])
	if !strings.HasPrefix(shown, before) { // what is shown of a half depends on the other
		shown = before + display(line[cursor:])
	}
	p.put(shown, len(before))
}

// put writes text, and marks the cursor's cell before its byte at; -1 for none.
// A wide character that does not fit begins the next row, and so does a cursor
// before it.
func (p *placer) put(s string, at int) {
	end := 0
	for clusters := displaywidth.StringGraphemes(s); clusters.Next(); {
		value, width := clusters.Value(), clusters.Width()
		end += len(value)
		if value == "\t" {
			value, width = tabCells, len(tabCells)
		}
		if p.col_+width > p.cols && p.col_ > 0 {
			p.end()
		}
		if at >= 0 && at < end {
			p.mark()
			at = -1
		}
		p.b.WriteString(value)
		p.col_ += width
	}
	if at >= 0 {
		p.mark()
	}
}

// words puts a prompt that is wider than a row, breaking it at blanks, which stay
// behind their word: a row does not begin with one.
func (p *placer) words(s string) {
	for word := range strings.SplitAfterSeq(s, " ") {
		if width := displaywidth.String(word); p.col_ > 0 && p.col_+width > p.cols && width <= p.cols {
			p.end()
		}
		p.put(word, -1)
	}
}

// mark remembers the cursor. At the end of a full row it stands in the next,
// which is where the next character goes.
func (p *placer) mark() {
	if p.col_ >= p.cols {
		p.end()
	}
	p.row, p.col = len(p.rows), p.col_
}

func (p *placer) end() {
	p.rows = append(p.rows, row{text: p.b.String(), width: p.col_})
	p.b.Reset()
	p.col_ = 0
}

// embolden makes the first n bytes of what was laid out bold.
func (l layout) embolden(n int) layout {
	for i := range l.rows {
		l.rows[i].bold = min(n, len(l.rows[i].text))
		n -= l.rows[i].bold
	}
	return l
}

// clip keeps at most height rows, those around the cursor: rows that have left
// the screen cannot be reached any more, and going up to them would overwrite
// the transcript.
func (l layout) clip(height int) layout {
	height = max(height, 1)
	if len(l.rows) <= height {
		return l
	}
	top := min(max(l.row-height+1, 0), len(l.rows)-height)
	return layout{rows: l.rows[top : top+height], row: l.row - top, col: l.col}
}
