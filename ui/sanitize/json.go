package sanitize

import (
	"fmt"
	"strings"
	"unicode"
)

// JSON writes the characters of a JSON text that a terminal obeys or hides as escapes. They stand in strings
// only, so it is the same JSON.
func JSON(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < 0x7f || unicode.IsGraphic(r) && !Invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
