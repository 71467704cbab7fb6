package ui

import "strings"

// fence opens and closes a message of several lines.
const fence = `"""`

// compose says whether text is a whole message, and which. A text that begins
// with a fence goes on until one ends a line; one that ends in a backslash goes
// on with the next line. If it is not whole, rest is the text so far, to which
// the next line is added.
func compose(text string) (message, rest string, whole bool) {
	if inner, ok := strings.CutPrefix(strings.TrimLeft(text, " \t"), fence); ok {
		body, closed := strings.CutSuffix(strings.TrimRight(inner, " \t\n"), fence)
		if !closed {
			return "", text + "\n", false
		}
		return strings.TrimSuffix(strings.TrimPrefix(body, "\n"), "\n"), "", true
	}
	slashes := len(text) - len(strings.TrimRight(text, `\`))
	if slashes%2 == 1 {
		return "", text[:len(text)-1] + "\n", false
	}
	return text, "", true
}

// fenced says whether text is a block between fences.
func fenced(text string) bool { return strings.HasPrefix(strings.TrimLeft(text, " \t"), fence) }

// firstLine is what a text of several lines is shown as.
func firstLine(text string) string {
	first, rest, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more && strings.TrimSpace(rest) != "" {
		return first + " …"
	}
	return first
}
