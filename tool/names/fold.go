package names

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Fold brings names together that some file system takes for one: letters of either
// case, characters that are compatible by Unicode's NFKC, and those that are ignored.
func Fold(name string) string {
	if !strings.ContainsFunc(name, func(c rune) bool { return c >= unicode.MaxASCII || 'A' <= c && c <= 'Z' }) {
		return name // as most are
	}
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range norm.NFKC.String(name) {
		switch {
		case 'A' <= c && c <= 'Z':
			b.WriteByte(byte(c + 'a' - 'A'))
		case c < unicode.MaxASCII:
			b.WriteByte(byte(c))
		case c == 'ß' || c == 'ẞ':
			b.WriteString("ss") // by full folding
		case !unicode.In(c, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			least := c
			for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
				least = min(least, r)
			}
			b.WriteRune(unicode.ToLower(least))
		}
	}
	return b.String()
}
