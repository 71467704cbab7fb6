package sanitize

import "unicode"

const (
	zwnj = 0x200c
	zwj  = 0x200d
	vs16 = 0xfe0f
)

// Invisible reports characters that take no cell of their own or an empty one, and can carry or
// disguise text: bidirectional controls, zero-width, fillers, variation selectors, tags.
func Invisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r >= 0x0600 && r <= 0x0605, r == 0x06dd, r == 0x070f,
		r == 0x0890, r == 0x0891, r == 0x08e2, r == 0x110bd, r == 0x110cd:
		return false // format characters by name, but drawn
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5,
		r >= 0x180b && r <= 0x180f, r == 0x2028, r == 0x2029,
		r >= 0x2060 && r <= 0x206f, r == 0x3164, r == 0xffa0,
		r >= 0xfe00 && r <= 0xfe0f, r >= 0xfff0 && r <= 0xfffb,
		r >= 0xe0000 && r <= 0xe0fff:
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// isDirection reports the controls of the bidirectional algorithm.
func isDirection(r rune) bool {
	return r == 0x061c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// isOddBlank reports blanks that look like the space bar's.
func isOddBlank(r rune) bool { return r >= 0xa0 && unicode.Is(unicode.Zs, r) }

// neededInProse reports whether the joiner r means something after prev.
func neededInProse(prev, r rune) bool {
	switch r {
	case vs16:
		return isPictograph(prev) && prev != vs16 || prev == '#' || prev == '*' || prev >= '0' && prev <= '9'
	case zwj, zwnj:
		return unicode.In(prev, unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Nko,
			unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya,
			unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
			unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
	}
	return false
}

// isPictograph reports emoji and symbols that can be shown as one; VS16 ends one.
func isPictograph(r rune) bool {
	switch {
	case r < 0xa9:
		return false
	case r == 0xa9, r == 0xae, r == 0x203c, r == 0x2049, r == 0x2122, r == 0x2139, r == vs16,
		r >= 0x2190 && r <= 0x21ff, r >= 0x2300 && r <= 0x23ff, r >= 0x2460 && r <= 0x24ff,
		r >= 0x25a0 && r <= 0x27bf, r == 0x2934, r == 0x2935, r >= 0x2b00 && r <= 0x2bff,
		r == 0x3030, r == 0x303d, r == 0x3297, r == 0x3299, r >= 0x1f000 && r <= 0x1faff:
		return true
	}
	return false
}
