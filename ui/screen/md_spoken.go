package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// heldCode is a block of code that is to be spoken: how many lines it has is
// said before them.
type heldCode struct {
	open bool
	long bool // too long to hold: said without a number, line by line
	lang string
	text strings.Builder

	quotes int // how many quotes it is in: their marks begin each line and are not spoken
}

// maxLang is how many bytes of a fence's info string are taken for a language.
const maxLang = 40

// holdCode begins a block; info is what follows the fence's marks.
func (m *Markdown) holdCode(info string) {
	lang := ""
	if words := strings.Fields(info); len(words) > 0 && len(words[0]) <= maxLang {
		lang = " " + Sanitize(words[0], Line)
	}
	m.code = heldCode{open: true, lang: lang}
}

func (c *heldCode) add(m *Markdown, s string) {
	if !c.long && c.text.Len()+len(s) > maxBlock {
		c.long = true
		m.codeHead("code" + c.lang + ":")
		m.codeRows(c.text.String(), 0)
		c.text.Reset()
	}
	if c.long {
		m.codeRows(s, 0)
		return
	}
	c.text.WriteString(s)
}

// flushCode speaks the block that has ended.
func (m *Markdown) flushCode() {
	if !m.code.open {
		return
	}
	c := m.code
	m.code = heldCode{}
	if !c.long {
		text := c.text.String()
		n := strings.Count(text, "\n")
		if text != "" && !strings.HasSuffix(text, "\n") {
			n++
		}
		m.codeHead(fmt.Sprintf("code%s, %s:", c.lang, count(n, "line")))
		m.codeRows(text, c.quotes)
	}
	if m.col > 0 {
		m.newline()
	}
	m.raw("end code.")
	m.newline()
}

// codeHead says what follows, behind what the line of the fence comes after.
func (m *Markdown) codeHead(text string) {
	m.raw(m.head + text)
	m.newline()
}

// codeRows writes code without the marks of so many quotes; they can be told only
// from whole lines.
func (m *Markdown) codeRows(text string, quotes int) {
	for l := range strings.Lines(text) {
		row, whole := strings.CutSuffix(l, "\n")
		for range quotes {
			if mark, rest, ok := strings.Cut(row, ">"); ok && strings.TrimSpace(mark) == "" {
				row = strings.TrimPrefix(rest, " ")
			}
		}
		if row != "" {
			m.raw(Sanitize(row, Code))
		}
		if whole {
			m.newline()
		}
	}
}

// item is a list item as it is spoken.
type item struct {
	col     int // where its mark stands
	ordered bool
	n       int    // its number in a list without numbers
	path    string // its number and those of the items it is in: "2.1"
}

// spokenHead is what is said for the containers before a line: numbers for
// items, "quote: " where a quote begins.
func (m *Markdown) spokenHead(o opening) string {
	quote := ""
	if o.quoted && !m.quoting {
		quote = "quote: "
	}
	if m.quoting != o.quoted {
		m.items = nil // a list does not cross the border of a quote
	}
	m.quoting = o.quoted
	if o.list == 0 {
		if o.indent == 0 && (m.prev == kindBlank || o.kind != kindText) {
			m.items = nil
		}
		return quote
	}
	col := 0
	for rest := o.head; rest != ""; {
		blanks := len(rest) - len(strings.TrimLeft(rest, " \t"))
		rest, col = rest[blanks:], col+blanks
		n := strings.IndexAny(rest, " \t>")
		switch {
		case rest == "":
			continue
		case rest[0] == '>':
			n = 1
		case n < 0:
			n = len(rest)
			fallthrough
		default:
			m.countItem(rest[:n], col)
		}
		rest, col = rest[n:], col+n
	}
	return quote + m.items[len(m.items)-1].path + ". "
}

// countItem notes an item with the given mark ("-", "10.").
func (m *Markdown) countItem(mark string, col int) {
	for len(m.items) > 0 && m.items[len(m.items)-1].col > col {
		m.items = m.items[:len(m.items)-1]
	}
	next := item{col: col, ordered: mark != "-", n: 1}
	if k := len(m.items) - 1; k >= 0 && m.items[k].col == col {
		if m.items[k].ordered == next.ordered {
			next.n = m.items[k].n + 1
		}
		m.items = m.items[:k]
	}
	next.path = fmt.Sprint(next.n)
	if next.ordered {
		next.path = mark[:len(mark)-1]
	}
	if k := len(m.items) - 1; k >= 0 {
		next.path = m.items[k].path + "." + next.path
	}
	m.items = append(m.items, next)
}

// sentences says each row of a table in one: `Header: value, Header: value.`
// Of a table without rows the headers are said.
func (m *Markdown) sentences(t table) {
	rows, heads := t.rows[1:], t.rows[0]
	if len(rows) == 0 {
		rows, heads = t.rows, nil
	}
	for _, row := range rows {
		var said []word
		for c, words := range row {
			if len(words) == 0 {
				continue
			}
			if len(said) > 0 {
				said[len(said)-1] = said[len(said)-1].with(",")
			}
			if c < len(heads) && len(heads[c]) > 0 {
				said = append(said, heads[c]...)
				said[len(said)-1] = said[len(said)-1].with(":")
			}
			said = append(said, words...)
		}
		if len(said) == 0 {
			continue
		}
		if last := said[len(said)-1]; !strings.HasSuffix(last[len(last)-1].text, ".") {
			said[len(said)-1] = last.with(".")
		}
		m.started, m.hang = false, ""
		for k, w := range said {
			if k > 0 {
				m.spaces = 1
			}
			m.place(w)
		}
		m.newline()
		m.head = ""
	}
}

// with is the word with a mark behind it.
func (w word) with(mark string) word {
	return append(append(word{}, w...), atom{text: mark})
}

// spokenTask says whether an item that begins with a check box is done.
func (m *Markdown) spokenTask(run string) string {
	if !m.opt.Spoken || m.started || m.prev != kindItem {
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

// bareCode takes the backticks of a code span away, and the one blank beside
// them that only parts them from others.
func bareCode(span string) string {
	text := strings.Trim(span, "`")
	if n := utf8.RuneCountInString(text); n > 2 && strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = text[1 : len(text)-1]
	}
	return text
}
