// Package diff compares texts line by line, and word by word. No other package uses the library below it, whose
// line numbers are wrong where two changes share a hunk.
package diff

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/aymanbagabas/go-udiff/lcs"
)

// Edit replaces the bytes of a text from Start to End, excluded, with New.
type Edit = udiff.Edit

// Unified is a diff in hunks with three lines of context; its String is what git apply and patch take.
type Unified = udiff.UnifiedDiff

// The kinds of lines in a hunk.
const (
	Delete = udiff.Delete
	Insert = udiff.Insert
	Equal  = udiff.Equal
)

// Lines are the edits of whole lines that make after of before, in order and apart.
func Lines(before, after string) []Edit { return udiff.Lines(before, after) }

// Strings are the edits that make after of before, in order and apart, each between whole characters.
func Strings(before, after string) []Edit { return udiff.Strings(before, after) }

// Compare is the unified diff of two texts with these names. It has no hunks where they are equal.
func Compare(from, to, before, after string) Unified {
	u, err := udiff.ToUnifiedDiff(from, to, before, Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		panic(err) // the edits are not those of before
	}
	// The library does not count the lines between two changes of a hunk, so all later ToLines are too small.
	shift := 0
	for _, h := range u.Hunks {
		h.ToLine = h.FromLine + shift
		added, removed := count(h)
		shift += added - removed
	}
	return u
}

// Count counts the lines that a diff adds and removes.
func Count(u Unified) (added, removed int) {
	for _, h := range u.Hunks {
		a, r := count(h)
		added, removed = added+a, removed+r
	}
	return added, removed
}

func count(h *udiff.Hunk) (added, removed int) {
	for _, line := range h.Lines {
		switch line.Kind {
		case Insert:
			added++
		case Delete:
			removed++
		}
	}
	return added, removed
}

// Span is the bytes of a text from Start to End, excluded.
type Span struct{ Start, End int }

// Words are the parts of two texts that differ, in whole words and in order: each that is removed with the one that was
// added in its place, of which one may be empty.
func Words(before, after string) (removed, added []Span) {
	was, wasAt := words(before)
	is, isAt := words(after)
	for _, d := range lcs.DiffLines(was, is) {
		removed = append(removed, Span{wasAt[d.Start], wasAt[d.End]})
		added = append(added, Span{isAt[d.ReplStart], isAt[d.ReplEnd]})
	}
	return removed, added
}

// NoWord reports whether a character belongs to no word.
func NoWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// words are the words of a text, with all other characters one by one, and where each begins and the text ends.
func words(text string) (parts []string, at []int) {
	at = []int{0}
	for text != "" {
		_, n := utf8.DecodeRuneInString(text)
		if end := strings.IndexFunc(text, NoWord); end > 0 {
			n = end
		} else if end < 0 {
			n = len(text)
		}
		parts, at, text = append(parts, text[:n]), append(at, at[len(parts)]+n), text[n:]
	}
	return parts, at
}
