package ui

import (
	"iter"
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/chzyer/readline"
	"github.com/clipperhouse/displaywidth"
)

// do carries out an editing key. It reports false for a key that did nothing,
// which is worth a beep, and for one it does not know.
func (e *editor) do(kind keyKind) bool {
	if kind != keyLastArgument {
		e.argument = lastArgument{}
	}
	before := string(e.line)
	at := e.pos
	switch kind {
	case keyUp:
		if pos, ok := lineUp(e.line, e.pos); ok {
			e.move(pos)
		} else {
			e.recall(readline.CharPrev)
		}
	case keyDown:
		if pos, ok := lineDown(e.line, e.pos); ok {
			e.move(pos)
		} else {
			e.recall(readline.CharNext)
		}
	case keyPrev:
		e.recall(readline.CharPrev)
	case keyNext:
		e.recall(readline.CharNext)
	case keyTranspose:
		if len(e.line) > 1 { // the engine puts the cursor beyond the end of a line of one
			e.edit(transpose)
		}
	case keyYank:
		e.put(e.kill, e.killed, true)
	case keyNewline:
		e.insert("\n", false)
	case keyUndo:
		return e.undo()
	case keyLastArgument:
		return e.insertArgument()
	case keyBackspace:
		e.remove(clusterLeft(e.line, e.pos), e.pos, false)
	case keyDelete:
		e.remove(e.pos, clusterRight(e.line, e.pos), false)
	case keyKillEnd:
		end := lineEnd(e.line, e.pos)
		if end == e.pos && end < len(e.line) {
			end++ // at a line's end the newline goes, as everywhere
		}
		e.remove(e.pos, end, true)
	case keyKillStart:
		e.remove(lineStart(e.line, e.pos), e.pos, true)
	case keyKillWordLeft:
		e.remove(wordsLeft(e.line, e.pos, 1, true), e.pos, true) // between blanks, as the shells do
	case keyKillWordRight:
		e.remove(e.pos, wordRight(e.line, e.pos), true)
	default:
		to := motion(kind)
		if to == nil {
			return false
		}
		e.move(min(to(e.line, e.pos), len(e.line)))
	}
	return e.pos != at || string(e.line) != before
}

// motion is where a key moves, nil for one that is no motion.
func motion(kind keyKind) func(line []rune, pos int) int {
	switch kind {
	case keyLeft:
		return clusterLeft
	case keyRight:
		return clusterRight
	case keyHome:
		return lineStart
	case keyEnd:
		return lineEnd
	case keyWordLeft:
		return wordLeft
	case keyWordRight:
		return wordRight
	}
	return nil
}

// recall calls back a line of the history.
func (e *editor) recall(key rune) {
	before := e.snapshot()
	e.leave()
	e.key(key)
	if !slices.Equal(e.line, before.line) {
		e.pasted = e.marksOf(e.line, e.left[e.text()])
	}
	e.undos.note(before, e.snapshot(), false)
}

func (e *editor) move(pos int) {
	e.edit(func(line []rune, _ int) ([]rune, int) { return line, pos })
}

// keep puts a part of the line into the kill buffer.
func (e *editor) keep(from, to int) {
	e.kill, e.killed = slices.Clone(e.line[from:to]), e.snapshot().anyPasted(from, to)
}

func (e *editor) remove(from, to int, keep bool) {
	if to = min(to, len(e.line)); from >= to {
		return
	}
	if keep {
		e.keep(from, to)
	}
	e.edit(func(line []rune, _ int) ([]rune, int) { return cut(line, from, to), from })
}

// maxUndos is how many changes of one line can be undone.
const maxUndos = 200

// snapshot is the line at one time. Its runes are never changed.
type snapshot struct {
	line   []rune
	pos    int
	pasted []bool // as editor's
}

// same says whether line and cursor are the same.
func (s snapshot) same(as snapshot) bool { return s.pos == as.pos && slices.Equal(s.line, as.line) }

// undos is what the line was, oldest first. A run of typing is one change.
type undos struct {
	stack  []snapshot
	typing bool // the last change was typing, at its place
}

// note remembers what the line was before a change.
func (u *undos) note(before, after snapshot, typing bool) {
	if slices.Equal(before.line, after.line) {
		u.typing = u.typing && before.pos == after.pos
		return
	}
	if !typing || !u.typing {
		u.stack = append(u.stack, before)
		u.stack = u.stack[max(len(u.stack)-maxUndos, 0):]
	}
	u.typing = typing
}

func (e *editor) snapshot() snapshot { return snapshot{e.line, e.pos, e.pasted} }

// undo takes the last change back. It reports false when there is none.
func (e *editor) undo() bool {
	last := len(e.undos.stack) - 1
	if last < 0 {
		return false
	}
	was := e.undos.stack[last]
	e.undos.stack, e.undos.typing = e.undos.stack[:last], false
	e.restore(was)
	return true
}

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
