package prompt

import (
	"io"
	"strings"
	"time"

	"artoo/tool/text"
)

// answerState belongs to the question that is shown.
type answerState struct {
	question  bool
	lastInput time.Time
	listening bool // it was quiet; keys count
	begun     bool // keys have counted before
	burst     bool // a part of the answer was pasted
	dropped   bool // keys came that did not count
	// The message that was being typed when the question came, and its keys before it was
	// quiet. No part of it can become an answer.
	aside snapshot
	early []key
	// moved says that the terminal's width has changed since the question was printed.
	moved    bool
	isAnswer func(text string) bool
}

func (kb *keyboard) answerKey(k key, at time.Time) {
	if k.kind == keyInterrupt {
		kb.interrupted()
		return
	}
	if !kb.answer.listening {
		if kb.answer.moved || at.Sub(kb.answer.lastInput) < quiet {
			kb.answer.lastInput, kb.answer.dropped = at, true
			if !kb.answer.begun {
				kb.answer.early = append(kb.answer.early, k)
			}
			return
		}
		kb.answer.listening, kb.answer.begun = true, true
	}
	kb.answer.lastInput = at
	switch k.kind {
	case keyText:
		kb.ed.insert(k.text, false)
	case keyPaste:
		kb.answer.burst = true
		pasted := strings.TrimSpace(k.text)
		if first := text.FirstLine(pasted); first != pasted {
			pasted = first + " …"
		}
		kb.ed.insert(pasted, true)
	case keyEnter, keyNewline:
		l := Line{Text: kb.ed.text(), Burst: kb.answer.burst || k.followed, Early: kb.answer.dropped}
		kb.ed.do(keyEnd)
		kb.draw()
		kb.finish(result{line: l})
	case keyEOF:
		if kb.ed.Len() > 0 {
			kb.ed.do(keyDelete)
			return
		}
		kb.finish(result{err: io.EOF})
	case keySuspend, keyQuit, keyClear:
		kb.control(k.kind)
	case keyUp, keyDown, keyPrev, keyNext, keyLastArgument: // there is no history of answers
		kb.canvas.beep()
	default:
		if !kb.ed.do(k.kind) {
			kb.canvas.beep()
		}
	}
}

// goOn types on a message that a question had interrupted. An Enter in it sends nothing, and a
// lone word that answers questions was meant as an answer.
func (kb *keyboard) goOn(keys []key) {
	var typed strings.Builder
	for _, k := range keys {
		typed.WriteString(k.text)
	}
	if is := kb.answer.isAnswer; kb.ed.Len() == 0 && (typed.Len() == 0 || is != nil && is(typed.String())) {
		return
	}
	for len(keys) > 0 && keys[len(keys)-1].kind == keyEnter {
		keys = keys[:len(keys)-1]
	}
	for _, k := range keys {
		switch k.kind {
		case keyText, keyPaste:
			kb.ed.insert(k.text, k.kind == keyPaste)
		case keyEnter, keyNewline:
			kb.ed.insert("\n", false)
		default:
			kb.ed.do(k.kind) // other keys have no meaning here
		}
	}
}

// askWhenStill prints a question again once the terminal has kept its width for a while: it may have
// cut the command, or left a part of an old prompt. No answer counts until then.
func (kb *keyboard) askWhenStill() {
	kb.answer.moved, kb.answer.listening = true, false
	kb.sizes++
	n := kb.sizes
	kb.later(kb.opt.Clock.After(quiet), func() {
		if n == kb.sizes {
			kb.askAgain()
		}
	})
}

func (kb *keyboard) askAgain() {
	if !kb.shown || !kb.answer.moved {
		return
	}
	kb.leaveRows()
	kb.want.label = kb.want.again()
	kb.answer.moved, kb.answer.lastInput = false, kb.opt.Clock.Now()
	kb.screen.Prompt("")
	kb.draw()
}
