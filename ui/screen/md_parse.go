package screen

import (
	"regexp"
	"strings"
	"sync"
)

// maxDepth is how many quotes and items within each other are understood.
const maxDepth = 10

// maybeMarks matches the start of a line as long as the rest may change its kind: marks of
// quotes and items, then a possible heading, rule, underline, fence or mark.
var maybeMarks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?:[ \t]*(?:>|(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)))*[ \t]*" +
		"(?:#{0,6}|[-*_][-*_ \t]*|[+]|=[= \t]*|[0-9]{1,9}[.)]?|`{1,2}|`{3,}[^`]*|~{1,2}|~{3,}.*)$")
})

// parse understands the start of a line, whole, or told from its marks.
func (m *Markdown) parse(s string) opening {
	o := opening{kind: kindText}
	i := 0
	for depth := 0; ; depth++ {
		start := i
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		blanks := strings.ReplaceAll(s[start:i], "\t", "    ")
		o.at = i
		if i == len(s) {
			if start == 0 {
				o.kind = kindBlank
			}
			return o
		}
		o.indent = len(blanks)
		if start == 0 && len(blanks) >= m.listAt+4 && (m.prev != kindText && m.prev != kindItem) {
			o.kind, o.at = kindIndented, 0
			return o
		}
		o.head, o.hang = o.head+blanks, o.hang+blanks
		n := container(s[i:])
		if n == 0 || depth == maxDepth {
			if depth < maxDepth {
				o.kind = leaf(s[i:], o.kind)
			}
			return o
		}
		mark, hang := s[i:i+n], strings.Repeat(" ", n)
		if s[i] == '>' {
			o.quoted, hang = true, ">"
		} else {
			if !m.opt.Color && (mark == "*" || mark == "+") {
				mark = "-"
			}
			o.kind, o.list = kindItem, len(o.head)+n+1
		}
		o.head, o.hang = o.head+mark, o.hang+hang
		i += n
	}
}

// container is the length of the quote or item mark that s begins with, 0 without a mark.
func container(s string) (n int) {
	switch c := s[0]; {
	case c == '>':
		return 1
	case c == '-' || c == '*' || c == '+':
		if isRule(s) {
			return 0
		}
		n = 1
	case c >= '0' && c <= '9':
		for n < len(s) && n < 9 && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == len(s) || s[n] != '.' && s[n] != ')' {
			return 0
		}
		n++
	}
	if n < len(s) && s[n] != ' ' && s[n] != '\t' {
		return 0
	}
	return n
}

// isRule reports a line of three or more -, * or _ and spaces.
func isRule(s string) bool {
	return strings.Trim(s, s[:1]+" \t") == "" && strings.Count(s, s[:1]) >= 3
}

// leaf is the text behind the containers, which is not empty; kind is their kind.
func leaf(s string, kind kind) kind {
	c := s[0]
	run := len(s) - len(strings.TrimLeft(s, s[:1]))
	switch {
	case c == '#' && run <= 6 && (run == len(s) || s[run] == ' ' || s[run] == '\t'):
		return kindHeading
	case run >= 3 && (c == '~' || c == '`' && !strings.Contains(s[run:], "`")):
		return kindFence
	case strings.IndexByte("-*_", c) >= 0 && isRule(s):
		return kindRule
	case c == '|':
		return kindTable
	}
	return kind
}
