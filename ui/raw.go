package ui

import (
	"errors"
	"io"
	"time"

	"artoo/ui/screen"
)

// quiet is how long nothing must have been typed before a question takes an
// answer: a sentence that was being typed when it appeared must not be one.
const quiet = 300 * time.Millisecond

// rawFront edits lines on a terminal in a mode of artoo's own, held for the
// whole session. The editor always has a line; during a turn it is just not
// shown.
type rawFront struct {
	*console
	clock    Clock
	size     func() (cols, rows int)
	display  func(string) string // makes text from outside safe to show
	complete completer           // what Tab proposes; nil proposes nothing
	remember func(text string)   // keeps a line in the history file

	ed      *editor
	frame   frame
	decoder decoder
	waits   int           // counts the waits for the rest of a sequence; older ones are void
	shown   bool          // the wanted line's prompt is on the screen
	mark    chan struct{} // being waited for, before a question may be shown
	answer  answerState
}

// answerState belongs to the question that is shown.
type answerState struct {
	question  bool
	lastInput time.Time
	heard     bool // it was quiet; keys count
	burst     bool // a part of the answer was pasted
	// The message that was being typed when the question came. It comes back
	// with the next prompt; no part of it can become an answer.
	aside       []rune
	asidePos    int
	asidePasted bool
}

func (f *rawFront) begin(w *want) {
	if w.question {
		// What was typed by now is taken as typed for a message, not for this.
		f.mark = make(chan struct{})
		if f.in.flush(f.mark) {
			return
		}
		f.mark = nil
	}
	f.show()
}

func (f *rawFront) show() {
	w := f.want
	f.shown = true
	f.screen.Prompt("") // the frame draws its text
	f.answer = answerState{question: w.question}
	switch {
	case w.question:
		f.answer.lastInput = f.clock.Now()
		f.answer.aside, f.answer.asidePos, f.answer.asidePasted = f.ed.line, f.ed.pos, f.ed.pastedStart
		f.ed.set(w.initial)
	case w.initial != "":
		text := w.initial
		if typed := f.ed.text(); typed != "" {
			text += "\n" + typed
		}
		f.ed.set(text)
	}
	f.draw()
}

func (f *rawFront) end() {
	f.mark = nil
	if !f.shown {
		return
	}
	f.shown = false
	f.frame.end("")
	f.screen.PromptDone()
	if f.answer.question {
		f.ed.put(f.answer.aside, f.answer.asidePos, f.answer.asidePasted)
	}
}

func (f *rawFront) draw() {
	if !f.shown {
		return
	}
	cols, rows := f.size()
	text := f.ed.shown(f.ed.line)
	cursor := len(f.ed.shown(f.ed.line[:f.ed.pos]))
	f.frame.show(place(f.want.prompt, text, cursor, cols, f.display).clip(rows - 1))
}

func (f *rawFront) take(c chunk) {
	switch {
	case c.mark != nil:
		if f.mark == c.mark {
			f.mark = nil
			f.show()
		}
		return
	case c.err != nil:
		if !errors.Is(c.err, io.EOF) && !isHangup(c.err) {
			f.complain(c.err)
		}
		f.hungUp(io.EOF)
		return
	}
	f.keys(f.decoder.feed(c.data), c.at)
	if wait := f.decoder.wait(); wait > 0 {
		f.waits++
		f.expect(wait, f.waits)
	} else {
		f.waits++
	}
}

// expect ends an incomplete sequence after a silence.
func (f *rawFront) expect(wait time.Duration, n int) {
	timer := f.clock.After(wait)
	go func() {
		defer f.guard()
		select {
		case <-timer:
			f.post(func() {
				if n == f.waits {
					f.keys(f.decoder.expire(), f.clock.Now())
				}
			})
		case <-f.quit:
		}
	}()
}

// keys carries out keys that came at a time, and then draws once.
func (f *rawFront) keys(keys []key, at time.Time) {
	for _, k := range keys {
		if f.shown && f.answer.question {
			f.answerKey(k, at)
		} else {
			f.messageKey(k)
		}
	}
	f.draw()
}

// messageKey is a key while a message is typed, before a prompt or not.
func (f *rawFront) messageKey(k key) {
	switch k.kind {
	case keyText:
		f.ed.insert(k.text, false)
	case keyPaste:
		f.ed.insert(k.text, true)
	case keyEnter:
		f.enter()
	case keyEOF:
		switch {
		case len(f.ed.line) > 0:
			f.ed.do(keyDelete)
		case f.shown:
			f.hungUp(io.EOF)
		}
	case keyInterrupt:
		f.ctrlC()
	case keySuspend, keyQuit, keyClear:
		f.control(k.kind)
	default:
		if !f.ed.do(k.kind) && f.shown {
			f.frame.beep()
		}
	}
}

// control carries out the keys that mean the same everywhere.
func (f *rawFront) control(kind keyKind) {
	switch kind {
	case keySuspend:
		f.suspend()
	case keyQuit:
		if f.interrupt != nil { // at the prompt it is an unbound key
			f.dump()
		}
	case keyClear:
		if f.shown {
			_, rows := f.size()
			f.frame.clear(rows)
		}
	}
}

// enter sends the message, or goes on with its next line.
func (f *rawFront) enter() {
	text := f.ed.text()
	if !f.ed.pastedStart {
		message, rest, whole := compose(text)
		if !whole {
			f.ed.set(rest)
			return
		}
		text = message
	}
	f.draw()
	pasted := f.ed.pastedStart || fenced(f.ed.text())
	f.remember(f.ed.text())
	f.ed.submit(true)
	switch l := (line{text: text, pasted: pasted}); {
	case f.shown:
		f.finish(result{line: l})
	case text != "":
		f.enqueue(l)
	}
}

// ctrlC clears the line that is shown; if there is nothing to clear it is an
// interrupt. A cleared line can be called back.
func (f *rawFront) ctrlC() {
	if !f.shown || len(f.ed.line) == 0 {
		f.interrupted()
		return
	}
	f.frame.end("^C")
	f.screen.PromptDone()
	f.screen.Prompt("")
	f.remember(f.ed.text())
	f.ed.submit(true)
}

// answerKey is a key while a question is shown.
func (f *rawFront) answerKey(k key, at time.Time) {
	if k.kind == keyInterrupt {
		f.interrupted()
		return
	}
	if !f.answer.heard {
		if at.Sub(f.answer.lastInput) < quiet {
			f.answer.lastInput = at
			return
		}
		f.answer.heard = true
	}
	f.answer.lastInput = at
	switch k.kind {
	case keyText:
		f.ed.insert(k.text, false)
	case keyPaste:
		f.answer.burst = true
		f.ed.insert(firstLine(k.text), true)
	case keyEnter, keyNewline:
		l := line{text: f.ed.text(), burst: f.answer.burst || k.burst}
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
	case keyUp, keyDown, keyPrev, keyNext: // there is no history of answers
		f.frame.beep()
	default:
		if !f.ed.do(k.kind) {
			f.frame.beep()
		}
	}
}

// suspend stops artoo as the kernel would, with the terminal as it was found.
func (f *rawFront) suspend() {
	resume := f.in.pause()
	f.complain(f.release())
	stopped := suspend()
	f.complain(f.reclaim())
	resume()
	if !stopped {
		f.frame.beep()
	}
}

// release gives the terminal back as it was found. The prompt's rows go, as
// they will be drawn anew.
func (f *rawFront) release() error {
	if f.shown {
		f.frame.erase()
		f.screen.PromptDone()
	}
	f.screen.Pause()
	return f.modes.leave()
}

func (f *rawFront) reclaim() error {
	err := f.modes.enter()
	f.screen.Resume()
	if f.shown {
		f.answer.heard, f.answer.lastInput = false, f.clock.Now()
		f.screen.Prompt("")
	}
	f.draw()
	return err
}

func (f *rawFront) resized() {
	cols, _ := f.size()
	f.frame.resized(cols)
	f.draw()
}

// complain says what is wrong with the terminal, above the prompt.
func (f *rawFront) complain(err error) {
	if err == nil {
		return
	}
	if f.shown {
		f.frame.erase()
		f.screen.PromptDone()
	}
	f.console.complain(err)
	if f.shown {
		f.screen.Prompt("")
		f.draw()
	}
}

// drawer lets the frame write through the screen, the one door to the terminal.
type drawer struct{ screen *screen.Screen }

func (d drawer) Write(p []byte) (int, error) {
	d.screen.Draw(p)
	return len(p), nil
}

// Close ends the editor and gives the terminal back.
func (f *rawFront) Close() error {
	if f.shown {
		f.end()
	}
	return errors.Join(f.ed.close(), f.modes.leave())
}
