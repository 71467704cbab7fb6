package screen

import (
	"github.com/yuin/goldmark/parser"

	"artoo/ui/sanitize"
)

// MarkdownOptions say where rendered text goes and how it looks.
type MarkdownOptions struct {
	Out   func([]byte) // takes the rendered bytes, at most once per call, and keeps none
	Width func() int   // cells of a row, read at the start of each block; nil means 80
	Color bool         // bold, italic and struck-out by SGR sequences
	// Palette is how code and diffs look; may be nil.
	Palette *Palette
	// Links makes a link that leads to the web one to click on (OSC 8). Its address stands behind it only where its text
	// could be taken for another one.
	Links bool
	// ASCII says that the locale names no UTF-8: with Color the bar of a quote is another one.
	ASCII bool
	// Spoken is for screen readers: few marks, tables in sentences, nothing wrapped. Text is
	// held back to the end of its sentence or line, and a code block to its end: each piece
	// that is written is an utterance.
	Spoken bool
	// Label stands before the first line ("artoo: "); may be "".
	Label string
}

// Markdown renders a reply while it streams, for a terminal that only scrolls: written text is
// never touched again. Paragraphs, headings and items grow word by word; only the current
// word or open inline span is held back (see maxSpan), and a table to its end. Code goes line
// by line. Line breaks of the source stay, and #, backticks and fences where no colour says
// the same. A block of text over maxBlock, the line of a word over maxHeld, and the text after
// maxScanned are shown as source: time stays linear in size. The text is untrusted, and sanitised here. Whatever the pieces it arrives in,
// the bytes are the same. Not for concurrent use.
type Markdown struct {
	opt   MarkdownOptions
	clean sanitize.Stream
	row   row
	held  heldWords

	context parser.Context // serves every run, since none leaves anything in it

	// The source line being read.
	state   state
	lead    []byte // start of a line whose kind is not known yet; a row of a table so far
	head    string // precedes its first word: "- ", "> ", ""
	hang    string // precedes its further rows
	base    style  // applies to words without a style; in headings to all
	size    int    // bytes of the block
	scanned int    // bytes of the reply, see maxScanned

	// The source lines before.
	blank     bool // blank lines wait for something to follow them
	prev      kind
	listAt    int // where the text of the current list item begins
	fence     fence
	colored   int      // bytes that were looked at to color code
	table     []string // its rows, held back to its end
	tableHead string   // quotes and indent that precede each
	speech    speech   // used with Spoken only
}

type state int

const (
	atStart state = iota // the kind of the line is not known yet
	inText
	inCode  // the rest of a line is shown as it is
	inTable // a row is held back
)

const maxBlock = 8 << 10

// NewMarkdown makes a renderer for one reply.
func NewMarkdown(opt MarkdownOptions) *Markdown {
	if opt.Width == nil {
		opt.Width = func() int { return 80 }
	}
	opt.Color = opt.Color && !opt.Spoken
	m := &Markdown{opt: opt, clean: sanitize.Stream{Where: sanitize.Mixed}, row: row{opt: opt}, context: parser.NewContext()}
	m.row.guard.words = ownWords
	if opt.Spoken {
		m.row.guard.words = spokenWords
	}
	m.row.measure()
	return m
}

// RenderMarkdown renders a whole text.
func RenderMarkdown(text string, opt MarkdownOptions) string {
	m := NewMarkdown(opt)
	m.feed(m.clean.Write(text))
	m.end()
	return string(m.row.buf)
}

// Add takes the next piece of the reply.
func (m *Markdown) Add(text string) {
	m.feed(m.clean.Write(text))
	m.flush()
}

// Break ends the current row, so that something else can be printed. The reply goes on in a new
// row, behind the label again; a sentence that is held back goes there whole.
func (m *Markdown) Break() {
	switch {
	case m.opt.Spoken:
		m.breakSpoken()
		return
	case m.row.col > 0:
		m.row.newline()
	}
	m.flush()
}

// Close writes the text held back and ends the row.
func (m *Markdown) Close() {
	m.end()
	m.row.said = len(m.row.buf)
	m.flush()
}

// flush writes rendered text, spoken text up to the end of a sentence.
func (m *Markdown) flush() {
	n := len(m.row.buf)
	if m.opt.Spoken {
		n = m.row.said
	}
	n = m.row.guard.safe(n)
	if n > 0 {
		m.opt.Out(m.row.buf[:n])
		m.speech.spoke, m.speech.midRow = true, m.row.buf[n-1] != '\n'
	}
	m.row.buf = append(m.row.buf[:0], m.row.buf[n:]...)
	m.row.said = max(m.row.said-n, 0)
	m.row.guard.cut(n)
}

func (m *Markdown) end() {
	m.feed(m.clean.Close())
	if m.state == atStart && len(m.lead) > 0 && m.fence.open == 0 {
		m.beginLine(true)
	}
	switch {
	case m.state == inTable:
		m.feed("\n")
	case m.state == inText:
		m.endRun(true)
		m.endLine()
	case len(m.lead) > 0 && !(m.opt.Color && m.fence.closes(string(m.lead))): // the start of a code line
		m.codeLine(string(m.lead))
	}
	m.lead = m.lead[:0]
	m.flushCode()
	m.flushTable()
	if m.row.col > 0 {
		m.row.newline()
	}
	m.state = atStart
}

func (m *Markdown) feed(s string) {
	for len(s) > 0 {
		switch m.state {
		case atStart:
			if m.fence.open != 0 {
				s = m.readFenced(s)
			} else {
				s = m.readStart(s)
			}
		case inText:
			s = m.readText(s)
		case inCode:
			s = m.readCode(s)
		case inTable:
			s = m.readRow(s)
		}
	}
}
