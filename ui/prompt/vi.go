package prompt

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// vi is the state of vi's keys. A line begins in insert mode, where all keys are those of the
// other mode. Commands change the line through the editor, with its undo and kill buffer.
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

type viFind struct{ kind, char rune }

const maxCount = 9999

// viShort are the commands that stand for an operator with its motion.
var viShort = map[rune]string{'x': "dl", 'X': "dh", 'D': "d$", 's': "cl", 'S': "cc", 'C': "c$", 'Y': "yy"}

func (v *vi) reset() {
	v.normal, v.typing = false, false
	v.clear()
}

func (v *vi) clear() { v.count, v.op, v.opCount, v.arg = 0, 0, 0, 0 }

func (v *vi) busy() bool { return v.count > 0 || v.op != 0 || v.arg != 0 }

// take gives the count of the command, at least 1.
func (v *vi) take() int {
	n := max(v.count, 1) * max(v.opCount, 1)
	v.count, v.opCount = 0, 0
	return min(n, maxCount)
}

// viKey is a key with vi's keys. It reports false for one that means the same with emacs'.
func (kb *keyboard) viKey(k key) bool {
	v := kb.vi
	switch {
	case k.kind == keyEscape && !kb.shown && kb.interrupt != nil:
		return false // it stops the turn
	case k.kind == keyEscape && !v.normal:
		v.normal = true
		v.ended()
		if line, pos := kb.ed.line(), kb.ed.Pos(); pos > lineStart(line, pos) {
			kb.ed.move(clusterLeft(line, pos))
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
		kb.ed.insert(k.text, false)
		return true
	}
	switch k.kind {
	case keyText:
		for text := k.text; text != ""; {
			n := clusterBytes(text)
			kb.viText(text[:n])
			text = text[n:]
		}
	case keyBackspace:
		kb.viText("h")
	case keyNewline:
		kb.viText("j")
	case keyPaste:
		v.clear()
		kb.ed.insert(k.text, true)
		kb.viClamp()
	case keyEscape, keyEnter, keyInterrupt, keyEOF, keySuspend, keyQuit, keyClear,
		keyTab, keySearch, keySearchBack, keyMode, keyOutput, keyEdit:
		v.clear()
		return false
	default:
		v.clear()
		if !kb.ed.do(k.kind) {
			kb.viBeep()
		}
		kb.viClamp()
	}
	return true
}

// viText is one character typed in normal mode, or after it in the same read.
func (kb *keyboard) viText(char string) {
	switch {
	case kb.search != nil:
		kb.searchKey(key{kind: keyText, text: char})
	case !kb.vi.normal:
		kb.vi.note(key{kind: keyText, text: char})
		kb.ed.insert(char, false)
	default:
		if !kb.viCommand(char) {
			kb.vi.clear()
			kb.viBeep()
		}
		kb.viClamp()
	}
}

func (kb *keyboard) viBeep() {
	if kb.shown {
		kb.canvas.beep()
	}
}

// viClamp keeps the cursor on a character in normal mode.
func (kb *keyboard) viClamp() {
	line, pos := kb.ed.line(), kb.ed.Pos()
	if kb.vi.normal && pos > lineStart(line, pos) && pos == lineEnd(line, pos) {
		kb.ed.move(clusterLeft(line, pos))
	}
}

// command takes the next character of a command, and carries it out when it is whole. It
// reports false for one that cannot be done.
func (v *vi) command(kb *keyboard, char string) bool {
	r := []rune(char)[0]
	e := kb.ed
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
	if long := viShort[r]; long != "" {
		v.op, v.opCount, v.count = rune(long[0]), v.count, 0
		return v.command(kb, long[1:])
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
		if !kb.shown {
			return false
		}
		kb.startSearch()
		return true
	}
	return v.insertCommand(e, r) || v.change(e, r)
}

func (v *vi) insertCommand(e *editor, r rune) bool {
	line, pos := e.line(), e.Pos()
	switch r {
	case 'i':
	case 'a':
		e.move(min(clusterRight(line, pos), lineEnd(line, pos)))
	case 'I':
		e.move(firstInLine(line, pos))
	case 'A':
		e.move(lineEnd(line, pos))
	default:
		return false
	}
	v.clear()
	v.normal = false
	return true
}

func (v *vi) change(e *editor, r rune) bool {
	line, pos := e.line(), e.Pos()
	n := v.take()
	switch r {
	case 'p', 'P':
		return v.put(e, r == 'P', n)
	case '~':
		end := rightBy(line, pos, n)
		e.set(swapCase(e.Runes(), pos, end), end)
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

// replace is r.
func (v *vi) replace(e *editor, char string) bool {
	n := v.take()
	line, pos := e.line(), e.Pos()
	end := rightBy(line, pos, n)
	if end == rightBy(line, pos, n-1) { // there are fewer
		return false
	}
	with := []rune(strings.Repeat(char, n))
	e.set(slices.Concat(e.Runes()[:pos], with, e.Runes()[end:]), pos+len(with)-utf8.RuneCountInString(char))
	return true
}

func swapCase(line []rune, from, to int) []rune {
	for i := from; i < to; i++ {
		r, bits := line[i]&^pastedBit, line[i]&pastedBit
		if unicode.IsUpper(r) {
			line[i] = unicode.ToLower(r) | bits
		} else {
			line[i] = unicode.ToUpper(r) | bits
		}
	}
	return line
}

// maxPut bounds a put with a count, in characters.
const maxPut = 1 << 16

func (v *vi) put(e *editor, before bool, n int) bool {
	kill := e.killed(0)
	if len(kill) == 0 || len(kill)*n > maxPut {
		return false
	}
	var text []rune
	for i := range n {
		if v.lines && i > 0 {
			text = append(text, '\n')
		}
		text = append(text, kill...)
	}
	line, pos := e.line(), e.Pos()
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
	e.set(slices.Insert(e.Runes(), at, text...), at+cursor)
	return true
}

type viChange struct {
	count   int    // 0 for none
	command string // has no count
	typed   []key  // the keys of insert mode, until Esc
}

// viChanges knows the change that the dot repeats.
type viChanges struct {
	last, now viChange
	typing    bool // now led to insert mode, and goes on
}

const changing = "dcxXDpP~rsSCiaIA"

func (kb *keyboard) viCommand(char string) bool {
	v := kb.vi
	begins := v.op == 0 && v.arg == 0
	if begins && char == "." {
		return kb.viDot()
	}
	counts := v.arg == 0 && (char >= "1" && char <= "9" || char == "0" && v.count > 0)
	if !counts {
		if begins {
			v.now = viChange{}
		}
		v.now.command += char
		if v.count > 0 || v.opCount > 0 {
			v.now.count = max(v.count, 1) * max(v.opCount, 1)
		}
	}
	done := v.command(kb, char)
	if whole := done && !counts && v.op == 0 && v.arg == 0; whole && strings.Contains(changing, v.now.command[:1]) {
		v.typing = true
		if v.normal {
			v.ended()
		}
	}
	return done
}

// viDot makes the last change again, with its own count unless one was typed.
func (kb *keyboard) viDot() bool {
	v := kb.vi
	change := v.last
	if v.count > 0 {
		change.count = v.count
	}
	v.clear()
	v.count = change.count
	for rest := change.command; rest != ""; {
		n := clusterBytes(rest)
		if !kb.viCommand(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	if !v.normal {
		for _, k := range change.typed {
			kb.messageKey(k, time.Time{})
		}
		kb.viKey(key{kind: keyEscape})
	}
	return change.command != ""
}

// note remembers a key of insert mode. One that does more than type ends the change.
func (c *viChanges) note(k key) {
	if !c.typing {
		return
	}
	switch k.kind {
	case keyText, keyPaste, keyNewline, keyBackspace, keyKillWordLeft, keyKillStart:
		c.now.typed = append(c.now.typed, k)
	default:
		c.ended()
	}
}

func (c *viChanges) ended() {
	if c.typing {
		c.last, c.typing = c.now, false
	}
}
