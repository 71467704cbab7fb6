package ui

import (
	"strings"
	"time"
)

// viChange is a command that changed the line, as it was typed.
type viChange struct {
	count   int    // 0 for none
	command string // without the count
	typed   []key  // in insert mode, until Esc
}

// viChanges knows what the dot does again.
type viChanges struct {
	last, now viChange
	typing    bool // now led to insert mode, and goes on
}

// changing are the beginnings of the commands that the dot repeats.
const changing = "dcxXDpP~rsSCiaIA"

// viCommand is vi.command, which remembers the change that it makes.
func (f *keyReader) viCommand(char string) bool {
	v := f.vi
	begins := v.op == 0 && v.arg == 0
	if begins && char == "." {
		return f.viDot()
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
	done := v.command(f, char)
	if whole := done && !counts && v.op == 0 && v.arg == 0; whole && strings.Contains(changing, v.now.command[:1]) {
		v.typing = true
		if v.normal {
			v.ended()
		}
	}
	return done
}

// viDot makes the last change again, with the count typed before the dot in place
// of its own.
func (f *keyReader) viDot() bool {
	v := f.vi
	change := v.last
	if v.count > 0 {
		change.count = v.count
	}
	v.clear()
	v.count = change.count
	for rest := change.command; rest != ""; {
		n := clusterBytes(rest)
		if !f.viCommand(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	if !v.normal {
		for _, k := range change.typed {
			f.messageKey(k, time.Time{})
		}
		f.viKey(key{kind: keyEscape})
	}
	return change.command != ""
}

// note remembers a key of insert mode. One that does more than type, such as an
// arrow, ends the change.
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

// ended says that the change is whole.
func (c *viChanges) ended() {
	if c.typing {
		c.last, c.typing = c.now, false
	}
}
