package text

import "strings"

// Outside splits a text at newlines, and at separators that stand outside parentheses and outside the braces of globs;
// nil for no element.
func Outside(text, separators string) (elems []string) {
	depth, braces, start := 0, 0, 0
	add := func(end int) {
		if e := strings.TrimSpace(text[start:end]); e != "" {
			elems = append(elems, e)
		}
		start = end + 1
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == '{' && depth == 0:
			braces++
		case c == '}' && braces > 0 && depth == 0:
			braces--
		case c == '\n':
			depth, braces = 0, 0
			add(i)
		case depth == 0 && braces == 0 && strings.IndexByte(separators, c) >= 0:
			add(i)
		}
	}
	add(len(text))
	return elems
}
