package screen

import "strings"

// maxDepth is how many quotes and items within each other are understood.
const maxDepth = 10

// parse understands the start of a line from what was read of it. It reports
// false when more must be read; never when the line is whole.
func (m *Markdown) parse(whole bool) (opening, bool) {
	s := string(m.lead)
	o := opening{kind: kindText}
	i := 0
	for depth := 0; ; depth++ {
		start := i
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		blanks := strings.ReplaceAll(s[start:i], "\t", "    ")
		if i == len(s) {
			if start == 0 {
				o.kind = kindBlank
			}
			o.at = i
			return o, whole
		}
		o.at, o.indent = i, len(blanks)
		if start == 0 && len(blanks) >= m.listAt+4 && (m.prev != kindText && m.prev != kindItem) {
			o.kind, o.at = kindIndented, 0
			return o, true
		}
		o.head, o.hang = o.head+blanks, o.hang+blanks
		if depth == maxDepth {
			return o, true
		}
		n, known := container(s[i:], whole)
		if !known {
			return o, false
		}
		if n == 0 {
			return leaf(s[i:], whole, o)
		}
		mark, hang := s[i:i+n], strings.Repeat(" ", n)
		if s[i] == '>' {
			o.quoted, hang = true, ">"
		} else {
			if mark == "*" || mark == "+" {
				mark = "-"
			}
			o.kind, o.list = kindItem, len(o.head)+n+1
		}
		o.head, o.hang = o.head+mark, o.hang+hang
		i += n
	}
}

// container is the length of the quote or item mark that s begins with, 0 without a mark.
func container(s string, whole bool) (n int, known bool) {
	switch c := s[0]; {
	case c == '>':
		return 1, true
	case c == '-' || c == '*' || c == '+':
		if isRule(s, whole) {
			return 0, true
		}
		n = 1
	case c >= '0' && c <= '9':
		for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == len(s) {
			return 0, whole
		}
		if s[n] != '.' && s[n] != ')' {
			return 0, true
		}
		n++
	default:
		return 0, true
	}
	if n == len(s) {
		return n, whole
	}
	if s[n] == ' ' || s[n] == '\t' {
		// "* * *" is a rule, and is not known before its end.
		if strings.Trim(s, s[:1]+" ") == "" && strings.Count(s, s[:1]) > 1 && !whole {
			return 0, false
		}
		return n, true
	}
	return 0, true
}

// isRule reports a line of three or more -, * or _ and blanks.
func isRule(s string, whole bool) bool {
	return whole && strings.Trim(s, s[:1]+" \t") == "" && strings.Count(s, s[:1]) >= 3
}

// leaf understands what follows the containers; s is not empty.
func leaf(s string, whole bool, o opening) (opening, bool) {
	c := s[0]
	run := len(s) - len(strings.TrimLeft(s, s[:1]))
	switch c {
	case '#':
		switch {
		case run > 6:
		case run == len(s):
			if !whole {
				return o, false
			}
			o.kind = kindHeading
		case s[run] == ' ' || s[run] == '\t':
			o.kind = kindHeading
		}
	case '`', '~':
		switch {
		case run == len(s) && !whole:
			return o, false
		case run < 3 || c == '`' && strings.ContainsRune(s[run:], '`'):
		case !whole:
			return o, false
		default:
			o.kind = kindFence
		}
	case '-', '*', '_':
		switch {
		case isRule(s, whole):
			o.kind = kindRule
		case strings.Trim(s, s[:1]+" \t") == "" && !whole:
			return o, false
		}
	case '=':
		// The line below a heading, perhaps; what it is decides how it is spoken.
		return o, whole || strings.Trim(s, "= \t") != ""
	case '|':
		o.kind = kindTable
	}
	return o, true
}
