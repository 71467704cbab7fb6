package ui

import "slices"

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
