package text

import "strings"

// Outside splits a text at newlines, and at separators that stand outside parentheses; nil for no element.
func Outside(text, separators string) (elems []string) {
	depth, start := 0, 0
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
		case c == '\n':
			depth = 0
			add(i)
		case depth == 0 && strings.IndexByte(separators, c) >= 0:
			add(i)
		}
	}
	add(len(text))
	return elems
}
