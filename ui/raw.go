package ui

import (
	"errors"
	"io"
	"slices"
	"time"

	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// quiet is how long nothing must have been typed before a question takes an
// answer: a sentence that was being typed when it appeared must not be one.
const quiet = 300 * time.Millisecond

// keyReader edits lines on a terminal in a mode of artoo's own, held for the
// whole session. The editor always has a line; during a turn it is just not
// shown.
type keyReader struct {
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
	due     time.Time     // when the newest ends; zero when nothing is awaited
	shown   bool          // the wanted line's prompt is on the screen
	mark    chan struct{} // being waited for, before a question may be shown
	answer  answerState
	vi      *vi       // nil with emacs' keys
	search  *search   // nil but while the history is searched
	sought  string    // the last pattern
	escaped time.Time // of an Esc at the prompt that may be the first of two; zero after another key
	kept    *kept     // the line a key took away to have something done
}

// newKeyReader puts the pieces of a reader of keys together.
func (t *Terminal) newKeyReader(c *console, ed *editor, remember func(string)) *keyReader {
	f := &keyReader{
		console: c, clock: t.opt.Clock, size: t.opt.Size, ed: ed, frame: frame{out: drawer{t.Screen}},
		remember: remember, complete: t.complete, stop: suspend, spoken: t.opt.Profile == screen.Spoken,
		display: func(s string) string { return sanitize.Text(s, sanitize.Prose) },
	}
	if !f.spoken && isModern(t.variable) {
		f.marks, f.frame.coded = &marks{exit: -1}, true
	}
	if t.opt.ViKeys {
		f.vi = &vi{}
	}
	return f
}

func (f *keyReader) begin(w *lineRequest) {
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

func (f *keyReader) show() {
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

func (f *keyReader) end() {
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

func (f *keyReader) draw() {
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

func (f *keyReader) take(c chunk) {
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
	if !f.due.IsZero() && !c.at.Before(f.due) { // the silence was long enough, and its timer is late
		f.keys(f.decoder.expire(), c.at)
	}
	f.keys(f.decoder.feed(c.data), c.at)
	f.waits++
	n, wait := f.waits, f.decoder.wait()
	if f.due = (time.Time{}); wait == 0 {
		return
	}
	// A silence ends an incomplete sequence.
	f.due = f.clock.Now().Add(wait)
	f.later(f.clock.After(wait), func() {
		if n == f.waits {
			f.due = time.Time{}
			f.keys(f.decoder.expire(), f.clock.Now())
		}
	})
}

// keys carries out keys that came at a time, and then draws once.
func (f *keyReader) keys(keys []key, at time.Time) {
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

// messageKey is a key while a message is typed, before a prompt or not.
func (f *keyReader) messageKey(k key, at time.Time) {
	if k.kind != keyEscape {
		f.escaped = time.Time{}
	}
	if f.search != nil && f.searchKey(k) {
		return
	}
	if f.vi != nil && f.viKey(k) {
		return
	}
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
	case keyEscape:
		f.escape(k, at)
	case keyTab, keySearch, keySearchBack, keyMode, keyOutput, keyEdit:
		f.special(k.kind)
	case keySuspend, keyQuit, keyClear:
		f.control(k.kind)
	default:
		if !f.ed.do(k.kind) && f.shown {
			f.frame.beep()
		}
	}
}

// enter sends the message, or goes on with its next line.
func (f *keyReader) enter() {
	l := f.line()
	if !l.pasted {
		message, _, whole := compose(l.text)
		if !whole && f.nextLine() {
			return
		}
		if fenced(l.text) {
			l = blockLine(message)
		}
	}
	f.draw()
	f.shelve()
	switch {
	case f.shown:
		f.frame.entered()
		f.finish(result{line: l})
	case l.text != "":
		f.enqueue(l)
	}
}

// line is what stands in the editor.
func (f *keyReader) line() line {
	d := f.ed.draft()
	return line{text: d.text, spans: d.pasted, pasted: f.ed.pastedStart()}
}

// nextLine goes on with the message's next line, in place of the backslash at
// the end of this one. It reports false for a backslash that was pasted, which
// is a character like any other.
func (f *keyReader) nextLine() bool {
	last := len(f.ed.line) - 1
	end := last + 1
	if !fenced(f.ed.text()) {
		if end = last; f.ed.line[last] != '\\' || f.ed.snapshot().pastedAt(last) {
			return false
		}
	}
	f.ed.edit(func(line []rune, _ int) ([]rune, int) {
		line = append(slices.Clone(line[:end]), '\n')
		return line, len(line)
	})
	if f.vi != nil {
		f.vi.reset()
	}
	return true
}

// shelve puts the line into the history and begins the next.
func (f *keyReader) shelve() {
	f.remember(f.ed.text())
	f.ed.submit(true)
	if f.vi != nil {
		f.vi.reset()
	}
}
