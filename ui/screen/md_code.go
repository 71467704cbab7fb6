package screen

import "strings"

// fence is an open code fence.
type fence struct {
	open   byte // its character, 0 when no fence is open
	n      int  // how many of them
	indent int
	quoted bool
}

// maxHeld bounds what is held back, in bytes: of a code line, to see whether it
// closes the fence, and of a word that may be a link.
const maxHeld = 1 << 10

func (m *Markdown) openFence(o opening, line string) {
	c := line[o.at]
	n := len(line[o.at:]) - len(strings.TrimLeft(line[o.at:], line[o.at:o.at+1]))
	m.fence = fence{open: c, n: n, indent: len(o.head), quoted: o.quoted}
}

// closes reports whether the line ends the fence.
func (f fence) closes(line string) bool {
	if f.quoted {
		line = strings.TrimLeft(line, "> ")
	} else if indent := len(line) - len(strings.TrimLeft(line, " ")); indent > f.indent+3 {
		return false
	}
	line = strings.TrimRight(strings.TrimLeft(line, " "), " \t")
	return len(line) >= f.n && strings.Trim(line, string(f.open)) == ""
}

// readFenced reads a whole line inside a fence, or as much as cannot be its end.
func (m *Markdown) readFenced(s string) string {
	end := strings.IndexByte(s, '\n')
	if end < 0 {
		m.lead = append(m.lead, s...)
		if len(m.lead) > maxHeld {
			m.state = inCode
			m.raw(Sanitize(string(m.lead), Code))
			m.lead = m.lead[:0]
		}
		return ""
	}
	line := string(append(m.lead, s[:end]...))
	m.lead = m.lead[:0]
	if m.fence.quoted && !strings.HasPrefix(strings.TrimLeft(line, " "), ">") {
		m.fence = fence{} // the quote ended, and its fence with it
		m.feed(line + "\n")
		return s[end+1:]
	}
	if m.fence.closes(line) {
		m.fence = fence{}
	}
	m.raw(Sanitize(line, Code))
	m.newline()
	return s[end+1:]
}

// readCode shows the rest of a line as it is.
func (m *Markdown) readCode(s string) string {
	end := strings.IndexByte(s, '\n')
	if end < 0 {
		m.raw(Sanitize(s, Code))
		return ""
	}
	m.raw(Sanitize(s[:end], Code))
	m.newline()
	m.state = atStart
	return s[end+1:]
}
