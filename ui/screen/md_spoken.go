package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// speech is the state of a reply that is heard.
type speech struct {
	code    heldCode
	quoting bool // the line before was in a quote
	relabel bool // something else was said since the last row
	spoke   bool // something was handed to Out
	midRow  bool // and it does not end a row
}

// heldCode is a block of code, held back since the number of its lines is said before them.
type heldCode struct {
	open bool
	lang string
	text strings.Builder

	quotes int // how many quotes it is in: their marks begin its lines and are not spoken
}

const maxLang = 40

func (m *Markdown) flushCode() {
	if !m.speech.code.open {
		return
	}
	c := m.speech.code
	m.speech.code = heldCode{}
	var rows []string
	for row := range strings.Lines(c.text.String()) {
		rows = append(rows, strings.TrimSuffix(row, "\n"))
	}
	m.row.raw(fmt.Sprintf("%scode%s, %s:", m.head, c.lang, texts.Count(len(rows), "line")))
	m.row.newline()
	for _, row := range rows {
		if row = unquoted(row, c.quotes); row != "" {
			m.row.raw(sanitize.Text(row, sanitize.Code))
		}
		m.row.newline()
	}
	m.row.raw("end code.")
	m.row.newline()
}

// spokenHead is spoken before a line: an item keeps its mark and indent, and only the beginning
// of a quote is announced.
func (m *Markdown) spokenHead(o opening) string {
	quote := ""
	if o.quoted && !m.speech.quoting {
		quote = "quote: "
	}
	m.speech.quoting = o.quoted
	if o.list == 0 {
		return quote
	}
	return quote + strings.ReplaceAll(strings.ReplaceAll(o.head, "> ", ""), ">", "")
}

// maxUnsaid is how much of a sentence is held back to be spoken whole, in bytes.
const maxUnsaid = 2 << 10

// sentenceEnded notes that all may be spoken, if a sentence ends before the space that follows.
func (m *Markdown) sentenceEnded() {
	if !m.opt.Spoken || len(m.held.text) > 0 || m.state != inText {
		return
	}
	if unsaid := m.row.buf[m.row.said:]; len(unsaid) > maxUnsaid || endsSentence(string(unsaid[max(len(unsaid)-maxLang, 0):])) {
		m.row.setStyle(0)
		m.row.said = len(m.row.buf)
	}
}

// breakSpoken ends the row with the last whole sentence; the rest goes to the next row, behind the label.
func (m *Markdown) breakSpoken() {
	m.flush()
	if m.speech.midRow {
		m.speech.midRow = false
		m.opt.Out([]byte("\n"))
	}
	switch held := string(m.row.buf); {
	case held == "":
		m.speech.relabel, m.row.col = m.row.written, 0
		m.row.guard.begin(0)
	case m.speech.spoke:
		m.row.buf = append(append(m.row.buf[:0], m.opt.Label...), strings.TrimLeft(held, " ")...)
		m.row.guard.trust(cells(string(m.row.buf)))
	}
}

// endsSentence reports whether the last word of text ends a sentence, and is no abbreviation
// and no number of an item.
func endsSentence(text string) bool {
	text = strings.TrimRight(text, ")]}\"'”’»*_")
	end, size := utf8.DecodeLastRuneInString(text)
	if end != '.' {
		return size > 0 && strings.ContainsRune("!?…。！？", end)
	}
	last := text[strings.LastIndexAny(text[:len(text)-1], " \n(")+1 : len(text)-1]
	switch strings.ToLower(last) {
	case "", "cf", "dr", "etc", "fig", "mr", "mrs", "ms", "no", "prof", "st", "vs":
		return false
	}
	for part := range strings.SplitSeq(last, ".") {
		if utf8.RuneCountInString(part) > 1 {
			return true
		}
	}
	return false // 1, e.g, z.B
}

// sentences says each row of a table in one: `Header: value, Header: value.`
func (m *Markdown) sentences(t table) {
	for _, record := range t.records() {
		var said []word
		for i, words := range record {
			switch last := words[len(words)-1]; {
			case i < len(record)-1:
				words = ended(words, ",")
			case !strings.HasSuffix(last[len(last)-1].text, "."):
				words = ended(words, ".")
			}
			said = append(said, words...)
		}
		if said == nil {
			continue
		}
		m.row.started, m.hang = false, ""
		m.placeAll(said)
		m.row.newline()
		m.head = ""
	}
}

func (m *Markdown) spokenTask(run string) string {
	if !m.opt.Spoken || m.row.started || m.prev != kindItem {
		return run
	}
	switch run {
	case "[ ]":
		return "not done:"
	case "[x]", "[X]":
		return "done:"
	}
	return run
}
