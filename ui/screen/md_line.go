package screen

import (
	"strings"
	"unicode/utf8"
)

type kind int

const (
	kindNone kind = iota
	kindBlank
	kindText
	kindItem
	kindHeading
	kindFence
	kindIndented
	kindRule
	kindTable
)

type opening struct {
	kind   kind
	at     int    // where the content begins
	head   string // the containers before it as they are shown: "> - "
	hang   string // the same for further rows
	indent int    // cells of spaces before the content of the innermost container
	list   int    // where an item's text begins, 0 when the line starts no item
	quoted bool   // inside a block quote
}

const maxLead = 256

func (m *Markdown) readStart(s string) string {
	for i, r := range s {
		if r == '\n' {
			m.beginLine(true)
			m.readText("\n")
			return s[i+1:]
		}
		m.lead = utf8.AppendRune(m.lead, r)
		if known := !maybeMarks().Match(m.lead); known || len(m.lead) >= maxLead {
			m.beginLine(known)
			return s[i+utf8.RuneLen(r):]
		}
	}
	return ""
}

// beginLine acts on the start of a line, which is text where its kind is not known.
func (m *Markdown) beginLine(known bool) {
	o := opening{kind: kindText}
	if known {
		o = m.parse(string(m.lead))
	}
	lead := string(m.lead)
	m.lead = m.lead[:0]
	if o.kind != kindTable {
		m.flushTable()
	}
	if o.kind == kindBlank || m.opt.Spoken && (o.kind == kindRule || o.quoted && o.at == len(lead)) {
		m.blank = m.row.written
		m.prev, m.state, m.row.started = kindBlank, inText, true
		m.speech.quoting = m.speech.quoting && o.quoted
		return
	}
	if m.opt.Spoken && o.kind == kindText && m.prev == kindText && strings.Trim(lead, "= \t") == "" {
		m.state, m.row.started = inText, true // underlines a heading, and says nothing
		return
	}
	if o.kind != kindText || m.prev != kindText {
		m.row.measure()
		m.size = 0
	}
	if m.opt.Color && o.list == 0 && !o.quoted && (o.kind == kindFence || o.kind == kindHeading) {
		m.blank = m.row.written
	}
	m.startBlock(o)
	rest := lead[o.at:]
	switch o.kind {
	case kindFence:
		m.openFence(o, lead)
		m.speech.code.quotes = strings.Count(o.head, ">")
		rest = m.beginCode(lead, o.at)
	case kindIndented:
		rest = m.beginCode(lead, 0)
	case kindTable:
		if m.state = inTable; len(m.table) == 0 {
			m.tableHead = m.head
		}
	default:
		m.state = inText
		if o.kind != kindHeading || !m.opt.Spoken && !m.opt.Color {
			break // the marks say it
		}
		title := strings.TrimLeft(rest, "#")
		if m.base = bold; m.opt.Spoken {
			m.head += "heading: "
		}
		rest = strings.TrimLeft(title, " \t")
	}
	m.prev = o.kind
	m.feed(rest)
}

// beginCode returns a line that is shown as it is. Of a fence, which begins at a place of the line, the language is
// shown where the line is not, and a spoken one is said when its code has been read.
func (m *Markdown) beginCode(lead string, at int) (rest string) {
	if m.speech.code.open {
		m.labelHead()
		m.state, m.row.started = inText, true // the end of the line makes no row
		return ""
	}
	m.row.labelLine()
	if m.fence.open == 0 || !m.opt.Color {
		m.state, m.head = inCode, ""
		return lead
	}
	// The language stands for the fence, and without one the end of the line makes no row.
	m.state, m.base = inText, dim
	if strings.TrimSpace(m.head) == "" {
		m.head = ""
	}
	m.row.started = strings.Trim(m.head, "> ") == ""
	if language := strings.TrimSpace(strings.TrimLeft(lead[at:], "`~")); language != "" {
		m.row.started = false
		m.putWords(language)
	}
	return ""
}

// startBlock writes the blank line that was waiting and notes the block before the line's rows.
func (m *Markdown) startBlock(o opening) {
	if m.blank {
		m.blank = false
		m.row.newline()
	}
	switch {
	case o.list > 0:
		m.listAt = o.list
	case o.indent == 0 && !o.quoted && m.prev == kindBlank:
		m.listAt = 0
	}
	m.row.started, m.held.spaces = false, 0
	m.head, m.hang = o.head, o.hang
	if m.base = 0; m.opt.Spoken {
		m.head, m.hang = m.spokenHead(o), ""
	}
	if !m.row.written && m.opt.Label != "" {
		m.head = m.opt.Label + m.head
	}
	if len(m.hang) > m.row.width/2 {
		m.hang = ""
	}
}

// labelHead gives the label its own row.
func (m *Markdown) labelHead() {
	if !m.row.written {
		m.head = strings.TrimPrefix(m.head, m.opt.Label)
	}
	m.row.labelLine()
}

func (m *Markdown) endLine() {
	if !m.row.started {
		if head := strings.TrimRight(m.head, " "); head != "" {
			m.begin(head)
		}
	}
	if m.row.col > 0 {
		m.row.newline()
	}
	m.state = atStart
}
