package ui

import (
	"errors"
	"io"
	"strings"
	"time"

	"artoo/ui/sanitize"
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
	stop     func() bool         // stops the process until it is continued; false where it cannot
	spoken   bool                // what is there is never drawn over: it would be read again
	marks    *marks              // for messages, not for questions; may be nil

	ed      *editor
	frame   frame
	cols    int // of the terminal when the prompt was last drawn
	sizes   int // counts the changes of its width; the wait for an older one is void
	decoder decoder
	waits   int           // counts the waits for the rest of a sequence; older ones are void
	shown   bool          // the wanted line's prompt is on the screen
	mark    chan struct{} // being waited for, before a question may be shown
	answer  answerState
	vi      *vi       // nil with emacs' keys
	search  *search   // nil but while the history is searched
	sought  string    // the last pattern
	escaped time.Time // of an Esc at the prompt that may be the first of two; zero after another key
	kept    *kept     // the line a key took away to have something done
}

// newRawFront puts the pieces of an editing front together.
func (t *Terminal) newRawFront(c *console, ed *editor, remember func(string)) *rawFront {
	f := &rawFront{
		console: c, clock: t.opt.Clock, size: t.opt.Size, ed: ed, frame: frame{out: drawer{t.Screen}},
		remember: remember, complete: t.complete, stop: suspend, spoken: t.opt.Profile == screen.Spoken,
		display: func(s string) string { return sanitize.Text(s, sanitize.Prose) },
	}
	if !f.spoken {
		f.marks = newMarks(t.variable)
	}
	if t.opt.ViKeys {
		f.vi = &vi{}
	}
	return f
}

// answerState belongs to the question that is shown.
type answerState struct {
	question  bool
	lastInput time.Time
	heard     bool // it was quiet; keys count
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
	f.frame.marks = nil
	var held []key
	if w.question {
		f.answer.lastInput = f.clock.Now()
		f.answer.aside = f.ed.snapshot()
		f.ed.load(draft{text: w.initial})
		f.ed.undos = undos{} // nothing of the message can be undone into the answer
	} else {
		f.frame.marks = f.marks
		held = f.restore(draft{w.initial, w.pasted})
	}
	f.draw()
	if len(held) > 0 {
		f.keys(held, f.clock.Now())
	}
}

func (f *rawFront) end() {
	f.mark = nil
	if !f.shown {
		return
	}
	f.shown = false
	f.frame.end("")
	f.screen.PromptDone()
	f.search = nil
	if f.answer.question {
		f.ed.restore(f.answer.aside)
		f.goOn(f.answer.early)
		f.ed.undos = undos{}
	}
}

// goOn types on what came of a message after a question had interrupted it. An
// Enter in it sends nothing: who typed it had not seen the question, and reads
// the line first. A lone letter or word that answers questions was meant as one.
func (f *rawFront) goOn(keys []key) {
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

func (f *rawFront) draw() {
	if !f.shown {
		return
	}
	cols, rows := f.size()
	f.cols = cols
	prompt, text, cursor := f.want.prompt, f.ed.shown(f.ed.line), len(f.ed.shown(f.ed.line[:f.ed.pos]))
	if f.search != nil {
		prompt, text, cursor = f.searchView()
	}
	start := place(f.want.prompt, "", 0, cols, f.display).embolden(f.screen.Bold(f.want.prompt)).clip(rows - 1)
	f.frame.show(start, place(prompt, text, cursor, cols, f.display).embolden(f.screen.Bold(prompt)).clip(rows-1))
}

func (f *rawFront) take(c chunk) {
	switch {
	case c.mark != nil:
		if f.mark == c.mark {
			f.mark = nil
			f.show()
		}
		return
	case isHangup(c.err):
		f.console.end(&signalError{hangup})
		return
	case c.err != nil:
		if !errors.Is(c.err, io.EOF) {
			f.complain(c.err)
		}
		f.hungUp(io.EOF)
		return
	}
	f.keys(f.decoder.feed(c.data), c.at)
	f.waits++
	n, wait := f.waits, f.decoder.wait()
	if wait == 0 {
		return
	}
	// A silence ends an incomplete sequence.
	f.later(f.clock.After(wait), func() {
		if n == f.waits {
			f.keys(f.decoder.expire(), f.clock.Now())
		}
	})
}

// keys carries out keys that came at a time, and then draws once.
func (f *rawFront) keys(keys []key, at time.Time) {
	for _, k := range keys {
		switch {
		case f.shown && f.answer.question:
			f.answerKey(k, at)
		case f.holds(k):
			f.kept.keys = append(f.kept.keys, k)
		default:
			f.messageKey(k, at)
		}
	}
	f.draw()
}

// answerKey is a key while a question is shown.
func (f *rawFront) answerKey(k key, at time.Time) {
	if k.kind == keyInterrupt {
		f.interrupted()
		return
	}
	if !f.answer.heard {
		if f.answer.moved || at.Sub(f.answer.lastInput) < quiet {
			f.answer.lastInput = at
			if !f.answer.begun {
				f.answer.early = append(f.answer.early, k)
			}
			return
		}
		f.answer.heard, f.answer.begun = true, true
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
	stopped := f.stop()
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
	if !f.shown {
		return
	}
	cols, _ := f.size()
	if cols != f.cols && f.want.again != nil {
		f.settle()
	}
	f.frame.resized()
	f.draw()
}

// continued draws the prompt again after the process was stopped: others may have
// written below it since. What a question is about stands there whole again.
func (f *rawFront) continued() {
	f.resized()
	if f.shown && f.want.again != nil {
		f.answer.moved, f.answer.heard = true, false
		f.askAgain()
	}
}

// settle prints once more what the open question is about when the terminal has
// kept its width for a while: one that cuts rows has cut the command, one that
// rewraps may have left a part of an old prompt below it. No answer counts until
// then. A window that is dragged changes its width many times.
func (f *rawFront) settle() {
	f.answer.moved, f.answer.heard = true, false
	f.sizes++
	n := f.sizes
	f.later(f.clock.After(quiet), func() {
		if n == f.sizes {
			f.askAgain()
		}
	})
}

// askAgain shows the question whole.
func (f *rawFront) askAgain() {
	if !f.shown || !f.answer.moved {
		return
	}
	f.leaveRows()
	f.want.prompt = f.want.again()
	f.answer.moved, f.answer.lastInput = false, f.clock.Now()
	f.screen.Prompt("")
	f.draw()
}

// above prints something where the prompt stands, and the prompt again below.
func (f *rawFront) above(print func()) {
	if !f.shown {
		print()
		return
	}
	f.leaveRows()
	print()
	f.screen.Prompt("")
	f.draw()
}

// leaveRows makes room for what is printed next: the prompt's rows go, or stay
// as they are where nothing is drawn over.
func (f *rawFront) leaveRows() {
	if f.spoken {
		f.frame.end("")
		f.screen.PromptDone()
		return
	}
	f.frame.erase()
	f.screen.PromptErased()
}

// complain says what is wrong with the terminal, above the prompt.
func (f *rawFront) complain(err error) {
	if err != nil {
		f.above(func() { f.console.complain(err) })
	}
}

// turned is told how a turn ended, for the terminal's marks.
func (f *rawFront) turned(good bool) {
	switch {
	case f.marks == nil || !f.marks.ran:
	case good:
		f.marks.exit = 0
	default:
		f.marks.exit = 1
	}
}

// crashed implements terminalFront.
func (f *rawFront) crashed() {
	if f.frame.pasting.Load() {
		f.screen.Draw([]byte(pasteOff + "\n"))
		return
	}
	f.screen.Pause()            // takes the transient line away
	f.screen.Draw([]byte("\n")) // an answer may go somewhere else that is this terminal all the same
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
