package ui

import (
	"io"
	"strings"
	"time"
)

// answerState belongs to the question that is shown.
type answerState struct {
	question  bool
	lastInput time.Time
	listening bool // it was quiet; keys count
	begun     bool // keys have counted before
	burst     bool // a part of the answer was pasted
	// The message that was being typed when the question came, and what was
	// typed of it before it was quiet. It comes back with the next prompt; no
	// part of it can become an answer.
	aside snapshot
	early []key
	// moved says that the terminal changed its width, and what the question is
	// about was not printed again yet.
	moved bool
}

// answerKey is a key while a question is shown.
func (f *keyReader) answerKey(k key, at time.Time) {
	if k.kind == keyInterrupt {
		f.interrupted()
		return
	}
	if !f.answer.listening {
		if f.answer.moved || at.Sub(f.answer.lastInput) < quiet {
			f.answer.lastInput = at
			if !f.answer.begun {
				f.answer.early = append(f.answer.early, k)
			}
			return
		}
		f.answer.listening, f.answer.begun = true, true
	}
	f.answer.lastInput = at
	switch k.kind {
	case keyText:
		f.ed.insert(k.text, false)
	case keyPaste:
		f.answer.burst = true
		f.ed.insert(firstLine(k.text), true)
	case keyEnter, keyNewline:
		l := line{text: f.ed.text(), burst: f.answer.burst || k.followed}
		f.ed.do(keyEnd)
		f.draw()
		f.finish(result{line: l})
	case keyEOF:
		if len(f.ed.line) > 0 {
			f.ed.do(keyDelete)
			return
		}
		f.finish(result{err: io.EOF})
	case keySuspend, keyQuit, keyClear:
		f.control(k.kind)
	case keyUp, keyDown, keyPrev, keyNext, keyLastArgument: // there is no history of answers
		f.frame.beep()
	default:
		if !f.ed.do(k.kind) {
			f.frame.beep()
		}
	}
}

// goOn types on what came of a message after a question had interrupted it. An
// Enter in it sends nothing: who typed it had not seen the question, and reads
// the line first. A lone letter or word that answers questions was meant as one.
func (f *keyReader) goOn(keys []key) {
	var text strings.Builder
	for _, k := range keys {
		text.WriteString(k.text)
	}
	if len(f.ed.line) == 0 && parseAnswer(text.String()).step != stepAgain {
		return
	}
	for len(keys) > 0 && keys[len(keys)-1].kind == keyEnter {
		keys = keys[:len(keys)-1]
	}
	for _, k := range keys {
		switch k.kind {
		case keyText, keyPaste:
			f.ed.insert(k.text, k.kind == keyPaste)
		case keyEnter, keyNewline:
			f.ed.insert("\n", false)
		default:
			f.ed.do(k.kind) // what is no editing has no meaning here
		}
	}
}

// settle prints once more what the open question is about when the terminal has
// kept its width for a while: one that cuts rows has cut the command, one that
// rewraps may have left a part of an old prompt below it. No answer counts until
// then. A window that is dragged changes its width many times.
func (f *keyReader) settle() {
	f.answer.moved, f.answer.listening = true, false
	f.sizes++
	n := f.sizes
	f.later(f.clock.After(quiet), func() {
		if n == f.sizes {
			f.askAgain()
		}
	})
}

// askAgain shows the question whole.
func (f *keyReader) askAgain() {
	if !f.shown || !f.answer.moved {
		return
	}
	f.leaveRows()
	f.want.prompt = f.want.again()
	f.answer.moved, f.answer.lastInput = false, f.clock.Now()
	f.screen.Prompt("")
	f.draw()
}
