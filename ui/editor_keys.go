package ui

import (
	"slices"

	"github.com/chzyer/readline"
)

// do carries out an editing key. It reports false for a key that did nothing,
// which is worth a beep, and for one it does not know.
func (e *editor) do(kind keyKind) bool {
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
		e.remove(blankLeft(e.line, e.pos), e.pos, true)
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
