package ui

import "unicode"

// vi is the state of vi's keys over the editor. A line begins in insert mode,
// where all keys are those of the other mode; Esc leads to normal mode. Its
// commands change the line through the editor, so that undo and the kill buffer
// are the same in both.
type vi struct {
	normal  bool
	count   int  // typed before the command; 0 for none
	op      rune // d, c or y, waiting for its motion; 0 for none
	opCount int
	arg     rune // f, F, t, T or r, waiting for its character; 0 for none
	find    viFind
	lines   bool // the kill buffer holds whole lines
	viChanges
}

// viFind is a search within the line, for ; and ,.
type viFind struct{ kind, char rune }

// maxCount bounds a count: more than a line can have.
const maxCount = 9999

// reset begins a line.
func (v *vi) reset() {
	v.normal, v.typing = false, false
	v.clear()
}

func (v *vi) clear() { v.count, v.op, v.opCount, v.arg = 0, 0, 0, 0 }

// busy says whether a command has begun.
func (v *vi) busy() bool { return v.count > 0 || v.op != 0 || v.arg != 0 }

// take gives the count of the command that is carried out, at least 1.
func (v *vi) take() int {
	n := max(v.count, 1) * max(v.opCount, 1)
	v.count, v.opCount = 0, 0
	return min(n, maxCount)
}

// viKey is a key with vi's keys. It reports false for one that means the same
// with emacs'.
func (f *keyReader) viKey(k key) bool {
	v := f.vi
	switch {
	case k.kind == keyEscape && !f.shown && f.interrupt != nil:
		return false // it stops the turn
	case k.kind == keyEscape && !v.normal:
		v.normal = true
		v.ended()
		if f.ed.pos > lineStart(f.ed.line, f.ed.pos) {
			f.ed.move(clusterLeft(f.ed.line, f.ed.pos))
		}
		return true
	case k.kind == keyEscape && v.busy():
		v.clear()
		return true
	case !v.normal:
		v.note(k)
		if k.kind != keyText {
			return false
		}
		f.ed.insert(k.text, false)
		return true
	}
	switch k.kind {
	case keyText:
		for text := k.text; text != ""; {
			n := clusterBytes(text)
			f.viText(text[:n])
			text = text[n:]
		}
	case keyBackspace:
		f.viText("h")
	case keyNewline:
		f.viText("j")
	case keyPaste:
		v.clear()
		f.ed.insert(k.text, true)
		f.viClamp()
	case keyEscape, keyEnter, keyInterrupt, keyEOF, keySuspend, keyQuit, keyClear,
		keyTab, keySearch, keySearchBack, keyMode, keyOutput, keyEdit:
		v.clear()
		return false
	default:
		v.clear()
		if !f.ed.do(k.kind) {
			f.viBeep()
		}
		f.viClamp()
	}
	return true
}

// viText is one character typed in normal mode; after one that leads to insert
// mode the rest of what came with it is text.
func (f *keyReader) viText(char string) {
	switch {
	case f.search != nil:
		f.searchKey(key{kind: keyText, text: char})
	case !f.vi.normal:
		f.vi.note(key{kind: keyText, text: char})
		f.ed.insert(char, false)
	default:
		if !f.viCommand(char) {
			f.vi.clear()
			f.viBeep()
		}
		f.viClamp()
	}
}

func (f *keyReader) viBeep() {
	if f.shown {
		f.frame.beep()
	}
}

// viClamp keeps the cursor on a character: in normal mode it does not stand
// behind the last one.
func (f *keyReader) viClamp() {
	line, pos := f.ed.line, f.ed.pos
	if f.vi.normal && pos > lineStart(line, pos) && pos == lineEnd(line, pos) {
		f.ed.move(clusterLeft(line, pos))
	}
}

// command takes the next character of a command, and carries the command out
// when it is whole. It reports false for one that cannot be done.
func (v *vi) command(f *keyReader, char string) bool {
	r := []rune(char)[0]
	e := f.ed
	switch {
	case v.arg != 0:
		kind := v.arg
		v.arg = 0
		if kind == 'r' {
			return v.replace(e, char)
		}
		v.find = viFind{kind, r}
		return v.moveBy(e, kind)
	case r >= '1' && r <= '9', r == '0' && v.count > 0:
		v.count = min(v.count*10+int(r-'0'), maxCount)
		return true
	case v.op != 0 && r == v.op:
		return v.wholeLines(e, v.op, 0)
	case v.op != 0 && (r == 'j' || r == 'k'):
		return v.wholeLines(e, v.op, r)
	}
	switch r {
	case 'f', 'F', 't', 'T':
		v.arg = r
		return true
	case 'h', 'l', ' ', 'w', 'W', 'b', 'B', 'e', 'E', '0', '^', '$', ';', ',':
		return v.moveBy(e, r)
	}
	if v.op != 0 {
		return false
	}
	switch r {
	case 'd', 'c', 'y':
		v.op, v.opCount, v.count = r, v.count, 0
		return true
	case 'r':
		v.arg = r
		return true
	case 'j', 'k':
		return v.vertical(e, r)
	case '/':
		v.clear()
		if !f.shown {
			return false
		}
		f.startSearch()
		return true
	}
	return v.insertCommand(e, r) || v.change(e, r)
}

// insertCommand is a command that leads to insert mode.
func (v *vi) insertCommand(e *editor, r rune) bool {
	line, pos := e.line, e.pos
	switch r {
	case 'i':
	case 'a':
		e.move(min(clusterRight(line, pos), lineEnd(line, pos)))
	case 'I':
		e.move(firstInLine(line, pos))
	case 'A':
		e.move(lineEnd(line, pos))
	case 's':
		v.kill(e, pos, rightBy(line, pos, v.take()))
	case 'S':
		v.kill(e, lineStart(line, pos), lineEnd(line, pos))
	case 'C':
		v.kill(e, pos, lineEnd(line, pos))
	default:
		return false
	}
	v.clear()
	v.normal = false
	return true
}

// change is a command that changes the line and stays in normal mode.
func (v *vi) change(e *editor, r rune) bool {
	line, pos := e.line, e.pos
	n := v.take()
	switch r {
	case 'x':
		return v.kill(e, pos, rightBy(line, pos, n))
	case 'X':
		return v.kill(e, leftBy(line, pos, n), pos)
	case 'D':
		return v.kill(e, pos, lineEnd(line, pos))
	case 'Y':
		return v.wholeLines(e, 'y', 0)
	case 'p', 'P':
		return v.put(e, r == 'P', n)
	case '~':
		end := rightBy(line, pos, n)
		e.edit(func(line []rune, pos int) ([]rune, int) { return swapCase(line, pos, end), end })
		return end > pos
	case 'u':
		for ; n > 0; n-- {
			if !e.undo() {
				return false
			}
		}
		return true
	}
	return false
}

// replace is r: as many characters as the count says become another one.
func (v *vi) replace(e *editor, char string) bool {
	n := v.take()
	end := rightBy(e.line, e.pos, n)
	if end == rightBy(e.line, e.pos, n-1) { // there are fewer
		return false
	}
	var with []rune
	for range n {
		with = append(with, []rune(char)...)
	}
	e.edit(func(line []rune, pos int) ([]rune, int) {
		return insert(cut(line, pos, end), pos, with), pos + len(with) - len([]rune(char))
	})
	return true
}

// swapCase changes capitals to small letters and back.
func swapCase(line []rune, from, to int) []rune {
	line = append([]rune(nil), line...)
	for i := from; i < to; i++ {
		if unicode.IsUpper(line[i]) {
			line[i] = unicode.ToLower(line[i])
		} else {
			line[i] = unicode.ToUpper(line[i])
		}
	}
	return line
}

// kill takes a part of a line away and keeps it for p.
func (v *vi) kill(e *editor, from, to int) bool {
	if from >= to {
		return false
	}
	v.lines = false
	e.remove(from, to, true)
	return true
}

// maxPut bounds what a count makes of a put, in characters.
const maxPut = 1 << 16

// put is p and P.
func (v *vi) put(e *editor, before bool, n int) bool {
	if len(e.kill) == 0 || len(e.kill)*n > maxPut {
		return false
	}
	var text []rune
	for i := range n {
		if v.lines && i > 0 {
			text = append(text, '\n')
		}
		text = append(text, e.kill...)
	}
	line, pos := e.line, e.pos
	at, cursor := pos, 0
	switch {
	case v.lines && len(line) == 0:
	case v.lines && before:
		at = lineStart(line, pos)
		text = append(text, '\n')
	case v.lines:
		at, cursor = lineEnd(line, pos), 1
		text = append([]rune{'\n'}, text...)
	default:
		if !before {
			at = min(clusterRight(line, pos), lineEnd(line, pos))
		}
		cursor = len(text) - 1
	}
	was := e.snapshot()
	e.edit(func(line []rune, _ int) ([]rune, int) { return insert(line, at, text), at + cursor })
	e.pasted = was.follow(e.line, e.pos, e.killed)
	return true
}
