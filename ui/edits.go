package ui

import (
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// Moving and killing by what the user sees. The edit engine knows words of
// ASCII letters only, deletes the whole line for Ctrl-W in the first word, and
// takes a family emoji apart rune by rune; these funcs replace that part of it.
// Each takes the line and the cursor and returns where the cursor goes.

// clusterLeft is the start of the grapheme cluster before pos.
func clusterLeft(line []rune, pos int) int {
	return clusterStart(line, max(pos-1, 0))
}

// clusterRight is the end of the grapheme cluster at pos.
func clusterRight(line []rune, pos int) int {
	for end := range clusterEnds(line) {
		if end > pos {
			return end
		}
	}
	return len(line)
}

// clusterStart is the start of the grapheme cluster pos is in.
func clusterStart(line []rune, pos int) int {
	start := 0
	for end := range clusterEnds(line) {
		if end > pos {
			return start
		}
		start = end
	}
	return start
}

// clusterEnds goes through the ends of the grapheme clusters.
func clusterEnds(line []rune) iter.Seq[int] {
	return func(yield func(int) bool) {
		at := 0
		for clusters := displaywidth.StringGraphemes(string(line)); clusters.Next(); {
			at += utf8.RuneCountInString(clusters.Value())
			if !yield(at) {
				return
			}
		}
	}
}

// clusterBytes is the length of the first grapheme cluster of s.
func clusterBytes(s string) int {
	if clusters := displaywidth.StringGraphemes(s); clusters.Next() {
		return len(clusters.Value())
	}
	return 0
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r >= markBase
}

func wordLeft(line []rune, pos int) int {
	for pos > 0 && !isWord(line[pos-1]) {
		pos--
	}
	for pos > 0 && isWord(line[pos-1]) {
		pos--
	}
	return pos
}

func wordRight(line []rune, pos int) int {
	for pos < len(line) && !isWord(line[pos]) {
		pos++
	}
	for pos < len(line) && isWord(line[pos]) {
		pos++
	}
	return pos
}

// blankLeft is where the shell's Ctrl-W goes: the start of what stands between
// blanks.
func blankLeft(line []rune, pos int) int {
	for pos > 0 && unicode.IsSpace(line[pos-1]) {
		pos--
	}
	for pos > 0 && !unicode.IsSpace(line[pos-1]) {
		pos--
	}
	return pos
}

func lineStart(line []rune, pos int) int {
	for pos > 0 && line[pos-1] != '\n' {
		pos--
	}
	return pos
}

func lineEnd(line []rune, pos int) int {
	for pos < len(line) && line[pos] != '\n' {
		pos++
	}
	return pos
}

// lineUp is the same column of the line above, within a text of several lines.
func lineUp(line []rune, pos int) (int, bool) {
	start := lineStart(line, pos)
	if start == 0 {
		return pos, false
	}
	above := lineStart(line, start-1)
	return min(above+pos-start, start-1), true
}

func lineDown(line []rune, pos int) (int, bool) {
	end := lineEnd(line, pos)
	if end == len(line) {
		return pos, false
	}
	return min(end+1+pos-lineStart(line, pos), lineEnd(line, end+1)), true
}

// cut removes line[from:to] without touching the original.
func cut(line []rune, from, to int) []rune {
	return slices.Concat(line[:from], line[to:])
}

func insert(line []rune, pos int, text []rune) []rune {
	return slices.Concat(line[:pos], text, line[pos:])
}

// transpose swaps the two characters around the cursor, or the last two.
func transpose(line []rune, pos int) ([]rune, int) {
	if pos == len(line) {
		pos--
	}
	if pos < 1 {
		return line, pos + 1
	}
	line = slices.Clone(line)
	line[pos-1], line[pos] = line[pos], line[pos-1]
	return line, pos + 1
}
