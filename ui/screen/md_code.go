package screen

import (
	"strings"

	"artoo/ui/sanitize"
)

// fence is an open code fence.
type fence struct {
	open   byte // its character, 0 when no fence is open
	n      int  // how many of them
	indent int
	quotes int
	diff   bool         // it holds a diff
	colors *highlighter // nil for code without colours
}

// maxHeld bounds, in bytes, the part of a code line that is held back to see whether it closes
// the fence, and that of a word.
const maxHeld = 1 << 10

func (m *Markdown) openFence(o opening, line string) {
	c := line[o.at]
	n := len(line[o.at:]) - len(strings.TrimLeft(line[o.at:], line[o.at:o.at+1]))
	info := line[o.at+n:]
	lang := append(strings.Fields(info), "")[0]
	m.fence = fence{open: c, n: n, indent: len(o.head), quotes: strings.Count(o.head, ">"),
		diff: strings.EqualFold(lang, "diff") || strings.EqualFold(lang, "patch")}
	switch {
	case m.opt.Spoken:
		if lang != "" && len(lang) <= maxLang {
			lang = " " + sanitize.Text(lang, sanitize.Line)
		} else {
			lang = ""
		}
		m.speech.code = heldCode{open: true, lang: lang}
	case m.opt.Color && !m.fence.diff:
		m.fence.colors = newHighlighter(info, &m.colored)
	}
}

func (f fence) closes(line string) bool {
	if len(line) > maxHeld {
		return false
	}
	if f.quotes > 0 {
		line = strings.TrimLeft(line, "> ")
	} else if indent := len(line) - len(strings.TrimLeft(line, " ")); indent > f.indent+3 {
		return false
	}
	line = strings.TrimRight(strings.TrimLeft(line, " "), " \t")
	return len(line) >= f.n && strings.Trim(line, string(f.open)) == ""
}

// left reports whether the line shows that the quote around the fence has ended. However a long
// line arrives, its beginning decides.
func (f fence) left(line string) bool {
	return f.quotes > 0 && !strings.HasPrefix(strings.TrimLeft(line[:min(len(line), maxHeld+1)], " "), ">")
}

func (f fence) lineStyle(line string) style {
	if !f.diff {
		return 0
	}
	d := diffLine{kind: lineKind(line)}
	if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
		d.kind = fileLine
	}
	return d.style()
}

func (m *Markdown) readFenced(s string) string {
	text, rest, whole := strings.Cut(s, "\n")
	if m.lead = append(m.lead, text...); !whole && len(m.lead) <= maxHeld {
		return ""
	}
	line := string(m.lead)
	m.lead = m.lead[:0]
	closes := m.fence.closes(line)
	switch {
	case m.fence.left(line):
		m.fence = fence{}
		m.flushCode()
		if whole {
			line += "\n"
		}
		m.feed(line)
		return rest
	case !whole:
		m.state, m.fence.colors = inCode, nil
		m.codeLine(line)
		return rest
	case closes && (m.opt.Spoken || m.opt.Color):
		if m.opt.Color {
			m.blank, m.prev = m.fence.quotes == 0 && m.row.written, kindBlank
		}
		m.fence = fence{}
		m.flushCode()
		return rest
	case closes:
		m.fence = fence{}
	}
	m.codeLine(line)
	m.codeText("\n")
	return rest
}

func (m *Markdown) readCode(s string) string {
	text, rest, whole := strings.Cut(s, "\n")
	m.codeText(text)
	if whole {
		m.codeText("\n")
		m.state = atStart
	}
	return rest
}

// codeLine shows a line of code, with colours from the first column.
func (m *Markdown) codeLine(line string) {
	if !m.opt.Color {
		m.codeText(line)
		return
	}
	if n := m.fence.quotes; n > 0 {
		head := strings.Repeat("> ", n)
		if line = unquoted(line, n); line == "" {
			head = strings.TrimSpace(head)
		}
		m.begin(head)
	}
	for range m.fence.indent {
		line = strings.TrimPrefix(line, " ")
	}
	line = sanitize.Text(line, sanitize.Code)
	spans := []token{{text: line, style: m.fence.lineStyle(line)}}
	if m.fence.colors != nil {
		spans = m.fence.colors.line(line)
	}
	for _, s := range spans {
		m.row.setStyle(s.style)
		m.row.raw(s.text)
	}
}

// unquoted is a line without the marks of n quotes.
func unquoted(line string, n int) string {
	for range n {
		if mark, rest, ok := strings.Cut(line, ">"); ok && strings.TrimSpace(mark) == "" {
			line = strings.TrimPrefix(rest, " ")
		}
	}
	return line
}

// codeText shows a part of a line of code, or its end, or holds it back to be spoken.
func (m *Markdown) codeText(s string) {
	switch {
	case m.speech.code.open:
		m.speech.code.text.WriteString(s)
	case s == "\n":
		m.row.newline()
	default:
		m.row.raw(sanitize.Text(s, sanitize.Code))
	}
}
