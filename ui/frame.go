package ui

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"github.com/clipperhouse/displaywidth"

	"artoo/ui/screen"
)

// frame is the prompt on the screen: the only rows that are ever rewritten. It
// knows what stands there and writes the difference, so that a key at the end
// of a line costs as many bytes as the key has. Not safe for concurrent use.
type frame struct {
	out  io.Writer // never fails: the screen deals with a terminal that is gone
	now  layout
	open bool
	// marks tells the terminal where prompts, lines and output begin; nil where
	// it would not understand.
	marks    *marks
	unmarked bool // the rows are drawn anew, and have no marks yet
	// coded says that the terminal can report keys by number while a line is read.
	coded bool
	// drawn is open, for a goroutine that finds the program broken.
	drawn atomic.Bool
}

// Bracketed paste is on only while a line is read: whatever runs in between
// must find the terminal as it expects it.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Where the terminal is known for it, keys that share a byte are told apart while
// a line is read, Shift-Enter from Enter among them: kitty's keyboard protocol with
// its flags 1, which reports the keys that bytes cannot tell apart by number, and 4,
// which adds the character that the key has on an American keyboard. The terminal
// keeps a stack of such states: what it was in before is what it goes back to.
const (
	keysOn  = "\x1b[>1u\x1b[=4;2u"
	keysOff = "\x1b[<u"
)

// on is written before the rows of a prompt, off behind them.
func (f *frame) on() string {
	if f.coded {
		return keysOn + pasteOn
	}
	return pasteOn
}

func (f *frame) off() string {
	if f.coded {
		return pasteOff + keysOff
	}
	return pasteOff
}

// What is bold is so for a part of one row only.
const (
	boldOn  = "\x1b[1;7m"
	boldOff = "\x1b[22;27m"
)

// show draws the wanted rows over those that are there. start is the prompt by
// itself.
func (f *frame) show(start, want layout) {
	var b strings.Builder
	if !f.open {
		b.WriteString(f.on())
		f.now, f.open = layout{rows: []row{{}}}, true
		f.drawn.Store(true)
		f.unmarked = true
	}
	if f.marks != nil && f.unmarked {
		b.WriteString(f.marks.begin())
		f.draw(&b, start)
		b.WriteString(markTyped)
	}
	f.unmarked = false
	f.draw(&b, want)
	f.write(b.String())
}

func (f *frame) draw(b *strings.Builder, want layout) {
	p := pen{b: b, row: f.now.row, col: f.now.col, rows: len(f.now.rows)}
	for i, r := range want.rows {
		old := row{}
		if i < len(f.now.rows) {
			old = f.now.rows[i]
		}
		p.rewrite(i, old, r)
	}
	if last := len(want.rows) - 1; last < len(f.now.rows)-1 {
		p.to(last, want.rows[last].width)
		b.WriteString("\x1b[J")
	}
	p.to(want.row, want.col)
	f.now = want
}

// end leaves the prompt as a finished line that ends in mark, and the cursor
// below it.
func (f *frame) end(mark string) {
	if !f.open {
		return
	}
	var b strings.Builder
	p := pen{b: &b, row: f.now.row, col: f.now.col, rows: len(f.now.rows)}
	last := len(f.now.rows) - 1
	p.to(last, f.now.rows[last].width)
	b.WriteString(mark + f.off() + "\n")
	f.close()
	f.write(b.String())
}

// entered is end for a line that is sent: what follows is its output.
func (f *frame) entered() {
	if !f.open {
		return
	}
	f.end("")
	if f.marks != nil {
		f.write(f.marks.output())
	}
}

func (f *frame) close() {
	f.open = false
	f.drawn.Store(false)
}

// erase takes the prompt away, for what must be printed in its place.
func (f *frame) erase() {
	if !f.open {
		return
	}
	var b strings.Builder
	p := pen{b: &b, row: f.now.row, col: f.now.col, rows: len(f.now.rows)}
	p.to(0, 0)
	b.WriteString("\x1b[J" + f.off())
	f.close()
	f.write(b.String())
}

// resized forgets where the rows stand after the terminal changed its size, and
// begins them anew. Some terminals rewrap rows that are too long now, some cut
// them; nothing tells which. The rows above the cursor are never fewer than were
// drawn, so going up by that many never reaches what stands above the prompt:
// where rows were rewrapped, a piece of the old prompt stays.
func (f *frame) resized() {
	if !f.open {
		return
	}
	var b strings.Builder
	b.WriteByte('\r')
	if f.now.row > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", f.now.row)
	}
	b.WriteString("\x1b[J")
	f.now, f.unmarked = layout{rows: []row{{}}}, true
	f.write(b.String())
}

// clear empties the screen and keeps what was on it in the scrollback: it is
// pushed up by as many line breaks as the screen has rows.
func (f *frame) clear(height int) {
	f.write(strings.Repeat("\n", height) + "\x1b[H")
	if f.open {
		f.now, f.unmarked = layout{rows: []row{{}}}, true
	}
}

func (f *frame) beep() { f.write("\a") }

func (f *frame) write(s string) {
	if s != "" {
		_, _ = io.WriteString(f.out, s)
	}
}

// pen moves and writes within the rows of a frame.
type pen struct {
	b        *strings.Builder
	row, col int
	rows     int // how many exist on the screen
}

// to moves to a cell in as few bytes as plain sequences allow.
func (p *pen) to(row, col int) {
	if row < p.row {
		fmt.Fprintf(p.b, "\x1b[%dA", p.row-row)
	}
	for ; p.row < row; p.row++ { // a line break, not cursor-down: it makes the row if there is none
		p.b.WriteByte('\n')
		p.col = 0
	}
	p.row = row
	p.rows = max(p.rows, row+1)
	switch back := p.col - col; {
	case back == 0:
	case col == 0:
		p.b.WriteByte('\r')
	case back > 0 && back <= 4:
		p.b.WriteString(strings.Repeat("\b", back))
	case back > 0:
		fmt.Fprintf(p.b, "\x1b[%dD", back)
	default:
		fmt.Fprintf(p.b, "\x1b[%dC", -back)
	}
	p.col = col
}

// rewrite makes row i read want where it read old.
func (p *pen) rewrite(i int, old, want row) {
	if old.text == want.text && old.bold == want.bold && i < p.rows {
		return
	}
	same, cells := commonStart(old.text, want.text)
	if least := min(old.bold, want.bold); old.bold != want.bold && same > least {
		same, cells = commonStart(old.text[:least], want.text)
	}
	p.to(i, cells)
	if same < want.bold {
		p.b.WriteString(boldOn + want.text[same:want.bold] + boldOff)
		same = want.bold
	}
	p.b.WriteString(want.text[same:])
	p.col = want.width
	if old.width > want.width {
		p.b.WriteString("\x1b[K")
	}
}

// commonStart is how many bytes and cells two rows share, in whole clusters.
func commonStart(a, b string) (bytes, cells int) {
	x, y := displaywidth.StringGraphemes(a), displaywidth.StringGraphemes(b)
	for x.Next() && y.Next() && x.Value() == y.Value() {
		bytes += len(x.Value())
		cells += x.Width()
	}
	return bytes, cells
}

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
		p.put(screen.Indent(prompt), -1)
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
	for s != "" {
		end := screen.PromptWord(s, p.cols)
		word := s[:min(end+1, len(s))]
		s = s[len(word):]
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
