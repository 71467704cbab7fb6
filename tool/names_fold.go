package tool

import (
	"strings"
	"unicode"
)

// FoldName brings names together that some file system takes for one: case is
// ignored as APFS and NTFS do, and the characters HFS+ does not see are left
// out.
func FoldName(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, c := range name {
		if c < unicode.MaxASCII {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			b.WriteByte(byte(c))
			continue
		}
		switch {
		case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x206a && c <= 0x206f, c == 0xfeff:
			continue
		}
		b.WriteString(foldRune(c))
	}
	return b.String()
}

// foldRune folds one character that is not ASCII: by its simple folding, and
// where the full folding of Unicode comes to ASCII letters, by that.
func foldRune(c rune) string {
	switch c {
	case 'ß', 'ẞ':
		return "ss"
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	}
	least := c
	for r := unicode.SimpleFold(c); r != c; r = unicode.SimpleFold(r) {
		least = min(least, r)
	}
	return string(unicode.ToLower(least))
}
