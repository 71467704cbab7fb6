package git

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Quote is a name as git writes it in a patch: in quotes where it has a control character, a quote, a
// backslash or bytes that are not UTF-8; and where a space ends a directory's name, since git does not
// find such a name in the first line of a change.
func Quote(name string) string {
	if utf8.ValidString(name) && !strings.Contains(name, " /") && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || r == '"' || r == '\\'
	}) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= 7 && c <= 13:
			b.WriteByte('\\')
			b.WriteByte("abtnvfr"[c-7])
		case c < ' ' || c >= 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
