package prompt

import (
	"unicode"
)

// moveBy moves by a motion, or has the waiting operator work on the text between.
func (v *vi) moveBy(e *editor, motion rune) bool {
	op := v.op
	v.op = 0
	n := v.take()
	line, pos := e.line(), e.Pos()
	to, inclusive, ok := v.target(line, pos, motion, n, op != 0)
	if !ok {
		return false
	}
	if op == 'c' && (motion == 'w' || motion == 'W') && pos < len(line) && !unicode.IsSpace(line[pos]) {
		// To change a word is to change it without the spaces after it.
		big := motion == 'W'
		to, inclusive = wordsEnd(line, skipRight(line, pos, like(line[pos], big))-1, n-1, big), true
	}
	to = clusterStart(line, to)
	if op == 0 {
		e.move(to)
		return to != pos
	}
	if inclusive {
		to = min(clusterRight(line, to), len(line))
	}
	from, to := min(pos, to), max(pos, to)
	return v.operate(e, op, from, to, false)
}

// target is where a motion leads. An inclusive one takes the character there with it.
func (v *vi) target(line []rune, pos int, motion rune, n int, op bool) (to int, inclusive, ok bool) {
	start, end := lineStart(line, pos), lineEnd(line, pos)
	switch motion {
	case 'h':
		return leftBy(line, pos, n), false, true
	case 'l', ' ':
		return rightBy(line, pos, n), false, true
	case '0':
		return start, false, true
	case '^':
		return firstInLine(line, pos), false, true
	case '$':
		return end, false, true
	case 'w', 'W':
		return wordsRight(line, pos, n, motion == 'W', op), false, true
	case 'b', 'B':
		return wordsLeft(line, pos, n, motion == 'B'), false, true
	case 'e', 'E':
		return wordsEnd(line, pos, n, motion == 'E'), true, true
	case ';', ',':
		kind := v.find.kind
		if motion == ',' {
			kind = map[rune]rune{'f': 'F', 'F': 'f', 't': 'T', 'T': 't'}[kind]
		}
		return findChar(line, pos, kind, v.find.char, n, true)
	}
	return findChar(line, pos, motion, v.find.char, n, false)
}

// findChar is f, F, t and T: the n-th char in the line, or the place before it. again: t does
// not stop before the char at the cursor.
func findChar(line []rune, pos int, kind, char rune, n int, again bool) (to int, inclusive, ok bool) {
	step, till := 1, kind == 't' || kind == 'T'
	switch kind {
	case 'f', 't':
	case 'F', 'T':
		step = -1
	default: // nothing was looked for yet
		return pos, false, false
	}
	start, end := lineStart(line, pos), lineEnd(line, pos)
	to = pos
	if next := pos + step; till && again && next >= start && next < end && line[next] == char {
		to = next
	}
	for ; n > 0; n-- {
		to += step
		for to >= start && to < end && line[to] != char {
			to += step
		}
		if to < start || to >= end {
			return pos, false, false
		}
	}
	if till {
		to -= step
	}
	return to, step > 0, true
}

func (v *vi) operate(e *editor, op rune, from, to int, lines bool) bool {
	v.clear()
	if from == to && op != 'c' && !lines {
		return false
	}
	v.lines = lines
	e.keep(from, to)
	switch op {
	case 'y':
		e.move(from)
		return true
	case 'c':
		v.normal = false
	case 'd':
		if lines { // the newline between them and the rest goes, too
			switch {
			case to < e.Len():
				to++
			case from > 0:
				from--
			}
		}
	}
	e.remove(from, to, false)
	if op == 'd' && lines {
		e.move(lineStart(e.line(), e.Pos()))
	}
	return true
}

func (v *vi) wholeLines(e *editor, op, motion rune) bool {
	n, line, at := v.take(), e.line(), e.Pos()
	from, to := lineStart(line, at), lineEnd(line, at)
	if motion == 0 {
		n--
	}
	for ; n > 0; n-- {
		switch {
		case motion == 'k' && from > 0:
			from = lineStart(line, from-1)
		case motion != 'k' && to < len(line):
			to = lineEnd(line, to+1)
		case motion != 0:
			v.clear()
			return false
		}
	}
	done := v.operate(e, op, from, to, true)
	if op == 'y' && motion != 'k' {
		e.move(at)
	}
	return done
}

func (v *vi) vertical(e *editor, r rune) bool {
	kind := keyDown
	if r == 'k' {
		kind = keyUp
	}
	n := v.take()
	left := n
	for left > 0 && e.do(kind) {
		left--
	}
	return left < n
}

func rightBy(line []rune, pos, n int) int {
	for end := lineEnd(line, pos); n > 0 && pos < end; n-- {
		pos = min(clusterRight(line, pos), end)
	}
	return pos
}

func leftBy(line []rune, pos, n int) int {
	for start := lineStart(line, pos); n > 0 && pos > start; n-- {
		pos = clusterLeft(line, pos)
	}
	return pos
}

func firstInLine(line []rune, pos int) int {
	return skipRight(line[:lineEnd(line, pos)], lineStart(line, pos), unicode.IsSpace)
}

// like returns the test for runes in one word with r: vi separates words from other characters,
// and big words only from spaces.
func like(r rune, big bool) func(rune) bool {
	return func(other rune) bool { return !unicode.IsSpace(other) && (big || isWord(other) == isWord(r)) }
}

func wordsRight(line []rune, pos, n int, big, op bool) int {
	for ; n > 0 && pos < len(line); n-- {
		if !unicode.IsSpace(line[pos]) {
			pos = skipRight(line, pos, like(line[pos], big))
		}
		blank := unicode.IsSpace
		if op && n == 1 { // an operator stays in the line
			blank = func(r rune) bool { return unicode.IsSpace(r) && inLine(r) }
		}
		pos = skipRight(line, pos, blank)
	}
	return pos
}

func wordsLeft(line []rune, pos, n int, big bool) int {
	for ; n > 0; n-- {
		if pos = skipLeft(line, pos, unicode.IsSpace); pos > 0 {
			pos = skipLeft(line, pos, like(line[pos-1], big))
		}
	}
	return pos
}

func wordsEnd(line []rune, pos, n int, big bool) int {
	for ; n > 0; n-- {
		next := skipRight(line, min(pos+1, len(line)), unicode.IsSpace)
		if next == len(line) {
			return max(next-1, 0)
		}
		pos = skipRight(line, next, like(line[next], big)) - 1
	}
	return pos
}
