package mcp

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// withoutHidden removes control characters and characters that show nothing, by which a
// definition could pass text to the model that no user sees.
func withoutHidden(text string) (clean string, removed bool) {
	clean = strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r >= ' ' && r <= '~':
			return r
		case r == utf8.RuneError, unicode.IsControl(r), isHidden(r):
			return -1
		}
		return r
	}, text)
	return clean, clean != text
}

// isHidden reports whether a character shows nothing: tags, joiners, marks of direction and the like.
func isHidden(r rune) bool {
	switch {
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0000 && r <= 0xE0FFF:
		return true
	}
	return false
}

// cut shortens a text to at most so many bytes, at a character.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const end = "…"
	at := most - len(end)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + end
}
