package prompt

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/clipperhouse/displaywidth"
)

// canvas is the line on the screen, with its label: the only rows that are ever rewritten. It
// writes the difference to the rows there. Not safe for concurrent use.
type canvas struct {
	out  func(p []byte) // writes to the terminal
	now  layout
	open bool
	// sections tells the terminal where prompts, lines and output begin; may be nil.
	sections *sections
	unmarked bool // the rows are drawn again, and have no marks yet
	coded    bool
	drawn    atomic.Bool
}

// Bracketed paste is on only while a line is read.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Kitty's keyboard protocol, while a line is read: flag 1 reports the keys that bytes cannot
// tell apart by number, Shift-Enter among them, and 4 adds the character that the key has on an
// American keyboard. The terminal keeps a stack of such states.
const (
	keysOn  = "\x1b[>1u\x1b[=4;2u"
	keysOff = "\x1b[<u"
)

func (c *canvas) on() string {
	if c.coded {
		return keysOn + pasteOn
	}
	return pasteOn
}

func (c *canvas) off() string {
	if c.coded {
		return pasteOff + keysOff
	}
	return pasteOff
}

const lookEnd = "\x1b[0m"

// show draws the wanted rows over those that are there. start is the prompt by itself.
func (c *canvas) show(start, want layout) {
	var b strings.Builder
	if !c.open {
		b.WriteString(c.on())
		c.now, c.open = layout{rows: []row{{}}}, true
		c.drawn.Store(true)
		c.unmarked = true
	}
	if c.sections != nil && c.unmarked {
		b.WriteString(c.sections.begin())
		c.draw(&b, start)
		b.WriteString(markTyped)
	}
	c.unmarked = false
	c.draw(&b, want)
	c.write(b.String())
}

// pen stands where the cursor does.
func (c *canvas) pen(b *strings.Builder) pen {
	return pen{b: b, row: c.now.row, col: c.now.col, rows: len(c.now.rows)}
}

func (c *canvas) draw(b *strings.Builder, want layout) {
	p := c.pen(b)
	for i, r := range want.rows {
		old := row{}
		if i < len(c.now.rows) {
			old = c.now.rows[i]
		}
		p.rewrite(i, old, r)
	}
	if last := len(want.rows) - 1; last < len(c.now.rows)-1 {
		p.to(last, want.rows[last].width)
		b.WriteString("\x1b[J")
	}
	p.to(want.row, want.col)
	c.now = want
}

// end leaves the prompt as a finished line that ends in mark.
func (c *canvas) end(mark string) {
	if !c.open {
		return
	}
	var b strings.Builder
	p := c.pen(&b)
	last := len(c.now.rows) - 1
	p.to(last, c.now.rows[last].width)
	b.WriteString(mark + c.off() + "\n")
	c.close()
	c.write(b.String())
}

func (c *canvas) entered() {
	if !c.open {
		return
	}
	c.end("")
	if c.sections != nil {
		c.write(c.sections.output())
	}
}

func (c *canvas) close() {
	c.open = false
	c.drawn.Store(false)
}

func (c *canvas) erase() {
	if !c.open {
		return
	}
	var b strings.Builder
	p := c.pen(&b)
	p.to(0, 0)
	b.WriteString("\x1b[J" + c.off())
	c.close()
	c.write(b.String())
}

// resized begins the rows again after the terminal changed its size. Some terminals rewrap rows
// that are too long now, some cut them. The rows above the cursor are never fewer than were
// drawn, so going up never reaches the transcript: of rewrapped rows a piece stays.
func (c *canvas) resized() {
	if !c.open {
		return
	}
	var b strings.Builder
	b.WriteByte('\r')
	if c.now.row > 0 {
		fmt.Fprintf(&b, "\x1b[%dA", c.now.row)
	}
	b.WriteString("\x1b[J")
	c.now, c.unmarked = layout{rows: []row{{}}}, true
	c.write(b.String())
}

// clear pushes the screen's rows into the scrollback.
func (c *canvas) clear(height int) {
	c.write(strings.Repeat("\n", height) + "\x1b[H")
	if c.open {
		c.now, c.unmarked = layout{rows: []row{{}}}, true
	}
}

func (c *canvas) beep() { c.write("\a") }

func (c *canvas) write(s string) {
	if s != "" {
		c.out([]byte(s))
	}
}

type pen struct {
	b        *strings.Builder
	row, col int
	rows     int // how many exist on the screen
}

// to moves to a cell in few bytes.
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

func (p *pen) rewrite(i int, old, want row) {
	if old.text == want.text && slices.Equal(old.looks, want.looks) && i < p.rows {
		return
	}
	same, cells := commonStart(old.text, want.text)
	if !slices.Equal(old.looks, want.looks) {
		same, cells = 0, 0
	}
	p.to(i, cells)
	end := 0
	for _, look := range want.looks {
		if end += look.Bytes; same >= end {
			continue
		}
		if piece := want.text[same:end]; look.SGR == "" {
			p.b.WriteString(piece)
		} else {
			p.b.WriteString(look.SGR + piece + lookEnd)
		}
		same = end
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

type row struct {
	text  string
	width int // cells
	// looks are those of its beginning.
	looks []Look
}

type layout struct {
	rows     []row
	row, col int // the cursor's cell
}

// tabCells is how a tab within an edited line is shown: a real one would depend on the column.
const tabCells = "    "

// lay lays out label and text in rows of at most cols cells, the text's further lines behind an
// indent. cursor is a byte offset into text. The last column stays free, since terminals
// differ in its treatment.
func lay(label Label, indent, text string, cursor, cols int) layout {
	p := placer{cols: max(cols-1, 2)}
	p.words(label)
	labelled := len(p.rows)
	for {
		line, rest, more := strings.Cut(text, "\n")
		if cursor >= 0 && cursor <= len(line) {
			p.withCursor(line, cursor)
		} else {
			p.put(display(line), -1)
		}
		if !more {
			break
		}
		cursor -= len(line) + 1
		text = rest
		p.end()
		p.put(indent, -1)
	}
	p.end()
	dress(p.rows[:min(labelled+1, len(p.rows))], label)
	return p.layout
}

// dress gives the rows of a label its looks.
func dress(rows []row, label Label) {
	looks := slices.Clone(label.Looks)
	for i := range rows {
		r := &rows[i]
		left := len(r.text)
		if i > 0 && label.Indent != "" {
			r.looks = []Look{{Bytes: len(label.Indent)}}
			left -= len(label.Indent)
		}
		for left > 0 && len(looks) > 0 {
			look := Look{min(looks[0].Bytes, left), looks[0].SGR}
			r.looks = append(r.looks, look)
			left -= look.Bytes
			if looks[0].Bytes -= look.Bytes; looks[0].Bytes == 0 {
				looks = looks[1:]
			}
		}
	}
}

// indent begins the further lines of a message behind its label.
func indent(label string) string {
	return strings.Repeat(" ", displaywidth.String(cmp.Or(label, "you: ")))
}

type placer struct {
	layout
	cols  int
	b     strings.Builder
	cells int
}

// withCursor puts a line with the cursor before one of its bytes. The line is measured as a
// whole: a character may join with the one on the cursor's other side.
func (p *placer) withCursor(line string, cursor int) {
	shown, before := display(line), display(line[:cursor])
	if !strings.HasPrefix(shown, before) { // how a half is shown depends on the other
		shown = before + display(line[cursor:])
	}
	p.put(shown, len(before))
}

// put writes text, and marks the cursor's cell before its byte at; -1 for none.
func (p *placer) put(s string, at int) {
	end := 0
	for clusters := displaywidth.StringGraphemes(s); clusters.Next(); {
		value, width := clusters.Value(), clusters.Width()
		end += len(value)
		if value == "\t" {
			value, width = tabCells, len(tabCells)
		}
		if p.cells+width > p.cols && p.cells > 0 {
			p.end()
		}
		if at >= 0 && at < end {
			p.mark()
			at = -1
		}
		p.b.WriteString(value)
		p.cells += width
	}
	if at >= 0 {
		p.mark()
	}
}

// words puts a label, breaking it after spaces. Its keys are one word, if that fits into a row.
func (p *placer) words(label Label) {
	for s, keys := label.Text, label.Keys; s != ""; {
		end := strings.IndexByte(s, ' ')
		if end < 0 || len(s) == keys && displaywidth.String(strings.TrimRight(s, " ")) <= p.cols {
			end = len(s)
		}
		word := s[:min(end+1, len(s))]
		s = s[len(word):]
		width := displaywidth.String(word)
		if len(word) == keys {
			// The answer begins in their row.
			width++
		}
		if p.cells > 0 && p.cells+width > p.cols && width <= p.cols {
			p.end()
			p.put(label.Indent, -1)
		}
		p.put(word, -1)
	}
}

// mark remembers the cursor. At the end of a full row it stands in the next.
func (p *placer) mark() {
	if p.cells >= p.cols {
		p.end()
	}
	p.row, p.col = len(p.rows), p.cells
}

func (p *placer) end() {
	p.rows = append(p.rows, row{text: p.b.String(), width: p.cells})
	p.b.Reset()
	p.cells = 0
}

// clip keeps at most height rows, those around the cursor: going up to rows that have left the
// screen would overwrite the transcript.
func (l layout) clip(height int) layout {
	height = max(height, 1)
	if len(l.rows) <= height {
		return l
	}
	top := min(max(l.row-height+1, 0), len(l.rows)-height)
	return layout{rows: l.rows[top : top+height], row: l.row - top, col: l.col}
}

// OSC 133, so that terminals can jump from prompt to prompt and select one output: A before a
// prompt, B where typing begins, C where the output does, D where it ended.
const (
	markPrompt = "\x1b]133;A\x1b\\"
	markTyped  = "\x1b]133;B\x1b\\"
	markOutput = "\x1b]133;C\x1b\\"
)

type sections struct {
	ran  bool // a line was sent, and its end was not reported yet
	exit int  // its exit status, as of a shell; -1 if unknown
}

func (s *sections) begin() string {
	if !s.ran {
		return markPrompt
	}
	s.ran = false
	done := "\x1b]133;D"
	if s.exit >= 0 {
		done += ";" + strconv.Itoa(s.exit)
	}
	return done + "\x1b\\" + markPrompt
}

func (s *sections) output() string {
	s.ran, s.exit = true, -1
	return markOutput
}

// IsModern reports whether the environment names a terminal that is known to take marks,
// links (OSC 8) and keysOn, or to ignore them as it ignores any sequence that it does not know:
// others show them, and a screen reader in front of a terminal speaks them. Nothing is asked
// of the terminal itself. Inside tmux, screen and Emacs the terminal is another one, and not
// known. A nil env names none.
func IsModern(env func(name string) string) bool {
	if env == nil || slices.ContainsFunc([]string{"INSIDE_EMACS", "TMUX", "STY"}, func(name string) bool { return env(name) != "" }) {
		return false
	}
	term := env("TERM")
	for _, prefix := range []string{"vt", "screen", "tmux", "eterm"} {
		if strings.HasPrefix(term, prefix) {
			return false
		}
	}
	switch term {
	case "", "dumb", "unknown", "linux", "cons25":
		return false
	case "xterm-kitty", "xterm-ghostty", "foot", "foot-extra", "wezterm", "contour", "alacritty", "alacritty-direct":
		return true
	}
	switch env("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty", "vscode", "WarpTerminal", "rio":
		return true
	}
	vte, _ := strconv.Atoi(env("VTE_VERSION")) // 5000 is 0.50, the first that has links without faults
	return vte >= 5000 || env("KITTY_WINDOW_ID") != "" || env("ALACRITTY_WINDOW_ID") != "" || env("WT_SESSION") != ""
}
