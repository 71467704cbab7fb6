package prompt

import (
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"
)

// do carries out an editing key. It reports false for a key that did nothing.
func (e *editor) do(kind keyKind) bool {
	if kind != keyLastArgument && kind != keyYankPop {
		e.last = put{}
	}
	before := e.snapshot()
	line, pos := e.line(), e.Pos()
	switch kind {
	case keyUp:
		if to, ok := lineUp(line, pos); ok {
			e.move(to)
		} else {
			e.recall(-1)
		}
	case keyDown:
		if to, ok := lineDown(line, pos); ok {
			e.move(to)
		} else {
			e.recall(1)
		}
	case keyPrev:
		e.recall(-1)
	case keyNext:
		e.recall(1)
	case keyTranspose:
		e.transpose(line, pos)
	case keyYank:
		e.yank(0)
	case keyYankPop:
		return e.yankPop()
	case keyTransposeWords:
		e.transposeWords(line, pos)
	case keyUpper, keyLower, keyCapital:
		e.recase(kind, line, pos)
	case keyNewline:
		e.insert("\n", false)
	case keyUndo:
		return e.undo()
	case keyLastArgument:
		return e.insertArgument()
	case keyBackspace:
		e.remove(clusterLeft(line, pos), pos, false)
	case keyDelete:
		e.remove(pos, clusterRight(line, pos), false)
	case keyKillEnd:
		end := lineEnd(line, pos)
		if end == pos {
			end++ // at a line's end the newline goes, as everywhere
		}
		e.remove(pos, end, true)
	case keyKillStart:
		e.remove(lineStart(line, pos), pos, true)
	case keyKillWordLeft:
		e.remove(wordsLeft(line, pos, 1, true), pos, true) // between spaces, as the shells do
	case keyKillWordRight:
		e.remove(pos, skipRight(line, skipRight(line, pos, noWord), isWord), true)
	case keyLeft:
		e.move(clusterLeft(line, pos))
	case keyRight:
		e.move(clusterRight(line, pos))
	case keyHome:
		e.move(lineStart(line, pos))
	case keyEnd:
		e.move(lineEnd(line, pos))
	case keyWordLeft:
		e.move(skipLeft(line, skipLeft(line, pos, noWord), isWord))
	case keyWordRight:
		e.move(skipRight(line, skipRight(line, pos, noWord), isWord))
	}
	return !e.snapshot().same(before)
}

// transpose swaps the characters around the cursor; at the end of a line, the two before it.
func (e *editor) transpose(line []rune, pos int) {
	start := lineStart(line, pos)
	if pos == lineEnd(line, pos) {
		pos = clusterLeft(line, pos)
	}
	if from, to := clusterLeft(line, pos), clusterRight(line, pos); pos > start {
		all := e.Runes()
		e.splice(from, to, slices.Concat(all[pos:to], all[from:pos])...)
	}
}

// transposeWords puts the word at the cursor before the one that stands left of it; behind the last
// word, those two.
func (e *editor) transposeWords(line []rune, pos int) {
	if pos = skipRight(line, pos, noWord); pos == len(line) {
		pos = skipLeft(line, pos, noWord)
	}
	to := skipRight(line, pos, isWord)
	from := skipLeft(line, to, isWord)
	leftTo := skipLeft(line, from, noWord)
	leftFrom := skipLeft(line, leftTo, isWord)
	if leftFrom < leftTo {
		all := e.Runes()
		e.splice(leftFrom, to, slices.Concat(all[from:to], all[leftTo:from], all[leftFrom:leftTo])...)
	}
}

// recase changes the letters from the cursor to the word's end.
func (e *editor) recase(kind keyKind, line []rune, pos int) {
	from := skipRight(line, pos, noWord)
	to := skipRight(line, from, isWord)
	word := e.Runes()[from:to]
	for i, r := range line[from:to] {
		now := unicode.ToLower(r)
		switch {
		case r&collapsedBit != 0:
			continue
		case kind == keyCapital && i == 0:
			now = unicode.ToTitle(r)
		case kind == keyUpper:
			now = unicode.ToUpper(r)
		}
		word[i] += now - r
	}
	e.splice(from, to, word...)
}

// find moves to the next r, or to the one before. It reports false where there is none.
func (e *editor) find(r rune, back bool) bool {
	line, pos := e.line(), e.Pos()
	step := 1
	if back {
		step = -1
	}
	for at := pos + step; at >= 0 && at < len(line); at += step {
		if line[at] == r {
			e.move(at)
			return true
		}
	}
	return false
}

// The motions below see characters of several runes, words of any script, and lines.

func clusterLeft(line []rune, pos int) int {
	return clusterStart(line, max(pos-1, 0))
}

func clusterRight(line []rune, pos int) int {
	for end := range clusterEnds(line) {
		if end > pos {
			return end
		}
	}
	return len(line)
}

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

func clusterBytes(s string) int {
	if clusters := displaywidth.StringGraphemes(s); clusters.Next() {
		return len(clusters.Value())
	}
	return 0
}

func isWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || r == '_' || r >= collapsedBit
}

// skipLeft goes left over the runes that are so.
func skipLeft(line []rune, pos int, is func(rune) bool) int {
	for pos > 0 && is(line[pos-1]) {
		pos--
	}
	return pos
}

// skipRight goes right over the runes that are so.
func skipRight(line []rune, pos int, is func(rune) bool) int {
	for pos < len(line) && is(line[pos]) {
		pos++
	}
	return pos
}

func noWord(r rune) bool { return !isWord(r) }

func inLine(r rune) bool { return r != '\n' }

func lineStart(line []rune, pos int) int { return skipLeft(line, pos, inLine) }

func lineEnd(line []rune, pos int) int { return skipRight(line, pos, inLine) }

// lineUp is the same column of the line above.
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
