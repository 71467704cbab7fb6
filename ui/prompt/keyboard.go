package prompt

import (
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"artoo/ui/sanitize"
)

// quiet is how long nothing must have been typed before a question takes an answer.
const quiet = 300 * time.Millisecond

const twiceWait = 2 * time.Second

// keyboard edits lines on a terminal in a mode of its own. The editor always has a line; during
// a turn it is just not shown.
type keyboard struct {
	*Prompt
	remember func(text string) // keeps a line in the history file
	stop     func() bool       // stops the process until it is continued; false where it cannot
	spoken   bool              // no row is drawn over: it would be read again
	sections *sections         // messages have them, questions do not; may be nil

	ed      *editor
	canvas  canvas
	cols    int // the terminal had so many when the prompt was last drawn
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
	awaits  keyKind   // keyQuote, keyFind or keyFindBack until the next key
	escaped time.Time // when an Esc came that may be the first of two; zero after another key
	kept    *kept     // the line a key took away to have something done
	back    string    // the text that came back to this prompt, until the first key
	aside   Draft     // a text that came back and made room for a command; it comes back after that
}

func newKeyboard(p *Prompt, ed *editor, remember func(string)) *keyboard {
	kb := &keyboard{Prompt: p, ed: ed, canvas: canvas{out: p.screen.Draw}, remember: remember, stop: suspend, spoken: p.opt.Spoken}
	if !kb.spoken && IsModern(p.opt.Env) {
		kb.sections, kb.canvas.coded = &sections{exit: -1}, true
	}
	if p.opt.ViKeys {
		kb.vi = &vi{}
	}
	return kb
}

func display(s string) string { return sanitize.Text(s, sanitize.Prose) }

func (kb *keyboard) begin(w *request) {
	if w.question {
		// Text typed by now is taken as typed for a message, not for this.
		kb.mark = make(chan struct{})
		if kb.in.flush(kb.mark) {
			return
		}
		kb.mark = nil
	}
	kb.show()
}

func (kb *keyboard) show() {
	w := kb.want
	kb.shown = true
	kb.screen.Prompt("") // the frame draws its text
	kb.answer = answerState{question: w.question, isAnswer: w.isAnswer}
	kb.canvas.sections = nil
	var held []key
	if w.question {
		kb.answer.lastInput = kb.opt.Clock.Now()
		kb.answer.aside = kb.ed.snapshot()
		kb.ed.load(w.initial)
		kb.ed.forgetChanges() // nothing of the message can be undone into the answer
	} else {
		kb.canvas.sections = kb.sections
		initial := w.initial
		if initial.Text == "" {
			initial, kb.aside = kb.aside, Draft{}
		}
		held = kb.restore(initial)
	}
	kb.draw()
	if len(held) > 0 {
		kb.keys(held, kb.opt.Clock.Now())
	}
}

func (kb *keyboard) end() {
	kb.mark = nil
	if !kb.shown {
		return
	}
	kb.shown = false
	kb.canvas.end("")
	kb.screen.PromptDone()
	kb.search = nil
	if kb.answer.question {
		kb.ed.restore(kb.answer.aside)
		kb.goOn(kb.answer.early)
		kb.ed.forgetChanges()
	}
}

func (kb *keyboard) draw() {
	if !kb.shown {
		return
	}
	cols, rows := kb.opt.Size()
	kb.cols = cols
	line := kb.ed.Runes()
	label, text, cursor := kb.want.label, kb.ed.shown(line), len(kb.ed.shown(line[:kb.ed.Pos()]))
	if kb.search != nil {
		label, text, cursor = kb.searchView()
	}
	further := indent(kb.want.label.Text)
	if kb.want.question {
		further = indent("")
	}
	start := lay(kb.want.label, further, "", 0, cols).clip(rows - 1)
	kb.canvas.show(start, lay(label, further, text, cursor, cols).clip(rows-1))
}

func (kb *keyboard) take(c chunk) {
	switch {
	case c.mark != nil:
		if kb.mark == c.mark {
			kb.mark = nil
			kb.show()
		}
		return
	case IsHangup(c.err):
		kb.Prompt.end(&SignalError{hangup})
		return
	case c.err != nil:
		if !errors.Is(c.err, io.EOF) {
			kb.complain(c.err)
		}
		kb.hungUp(io.EOF)
		return
	}
	if !kb.due.IsZero() && !c.at.Before(kb.due) { // the silence was long enough, and its timer is late
		kb.keys(kb.decoder.expire(), c.at)
	}
	kb.keys(kb.decoder.feed(c.data), c.at)
	kb.waits++
	n, wait := kb.waits, kb.decoder.wait()
	if kb.due = (time.Time{}); wait == 0 {
		return
	}
	// A silence ends an incomplete sequence.
	kb.due = kb.opt.Clock.Now().Add(wait)
	kb.later(kb.opt.Clock.After(wait), func() {
		if n == kb.waits {
			kb.due = time.Time{}
			kb.keys(kb.decoder.expire(), kb.opt.Clock.Now())
		}
	})
}

func (kb *keyboard) keys(keys []key, at time.Time) {
	for _, k := range keys {
		switch {
		case kb.shown && kb.answer.question:
			kb.answerKey(k, at)
		case kb.holds(k):
			kb.kept.keys = append(kb.kept.keys, k)
		default:
			kb.messageKey(k, at)
		}
	}
	kb.draw()
}

func (kb *keyboard) messageKey(k key, at time.Time) {
	back := kb.back
	kb.back = ""
	if k.kind != keyEscape {
		kb.escaped = time.Time{}
	}
	if kb.search != nil && kb.searchKey(k) {
		return
	}
	if kb.awaits != keyText && kb.character(k) {
		return
	}
	if kb.vi != nil && kb.viKey(k) {
		return
	}
	switch k.kind {
	case keyText:
		if back != "" && strings.HasPrefix(k.text, "/") {
			kb.makeRoom(kb.ed.draft())
			kb.ed.load(Draft{})
		}
		kb.ed.insert(k.text, false)
	case keyPaste:
		kb.ed.insert(k.text, true)
	case keyEnter:
		kb.enter()
	case keyEOF:
		switch {
		case kb.ed.Len() > 0:
			kb.ed.do(keyDelete)
		case kb.shown:
			kb.hungUp(io.EOF)
		}
	case keyInterrupt:
		kb.ctrlC()
	case keyEscape:
		kb.escape(k, at)
	case keyQuote, keyFind, keyFindBack:
		kb.awaits = k.kind
	case keyTab, keySearch, keySearchBack, keyMode, keyOutput, keyEdit:
		kb.special(k.kind)
	case keySuspend, keyQuit, keyClear:
		kb.control(k.kind)
	default:
		if !kb.ed.do(k.kind) && kb.shown {
			kb.canvas.beep()
		}
	}
}

// character takes the character that Ctrl-V or Ctrl-] waits for. It reports false for a key that is
// none, which keeps its meaning.
func (kb *keyboard) character(k key) bool {
	awaits := kb.awaits
	kb.awaits = keyText
	switch k.kind {
	case keyText:
	case keyTab:
		k.text = "\t"
	case keyEnter, keyNewline:
		k.text = "\n"
	default:
		return false
	}
	if awaits == keyQuote {
		kb.ed.insert(k.text, false)
		return true
	}
	r, size := utf8.DecodeRuneInString(k.text)
	if !kb.ed.find(r, awaits == keyFindBack) {
		kb.canvas.beep()
	}
	kb.ed.insert(k.text[size:], false)
	return true
}

func (kb *keyboard) enter() {
	l := kb.line()
	if !l.Literal {
		message, _, whole := compose(l.Text)
		if !whole && kb.nextLine() {
			return
		}
		if fenced(l.Text) {
			l = block(message)
		}
	}
	kb.draw()
	kb.shelve()
	switch {
	case kb.shown:
		kb.canvas.entered()
		kb.finish(result{line: l})
	case l.Text != "":
		kb.enqueue(l)
	}
}

func (kb *keyboard) line() Line {
	d := kb.ed.draft()
	return Line{Text: d.Text, Pasted: d.Pasted, Literal: kb.ed.beginsPasted()}
}

// nextLine goes on with the message's next line, in place of a backslash at its end. It reports
// false for a backslash that was pasted.
func (kb *keyboard) nextLine() bool {
	line := kb.ed.Runes()
	end := len(line)
	if !fenced(kb.ed.text()) {
		if end--; line[end] != '\\' {
			return false
		}
	}
	kb.ed.splice(end, len(line), '\n')
	if kb.vi != nil {
		kb.vi.reset()
	}
	return true
}

func (kb *keyboard) shelve() {
	kb.remember(kb.ed.text())
	kb.ed.submit(true)
	if kb.vi != nil {
		kb.vi.reset()
	}
}

// special carries out a key that wants more than the line changed. During a turn only the
// output so far can be shown.
func (kb *keyboard) special(kind keyKind) {
	if !kb.shown {
		if kind == keyOutput && kb.interrupt != nil && kb.opt.Output != nil && kb.opt.Output() {
			return
		}
		kb.canvas.beep()
		return
	}
	switch kind {
	case keyTab:
		kb.completeLine()
	case keySearch, keySearchBack:
		kb.startSearch()
	case keyMode:
		kb.act(NextMode)
	case keyOutput:
		kb.act(LastOutput)
	case keyEdit:
		kb.act(Compose)
	}
}

func (kb *keyboard) control(kind keyKind) {
	switch kind {
	case keySuspend:
		kb.suspend()
	case keyQuit:
		if kb.interrupt != nil { // at the prompt it is an unbound key
			kb.dump()
		}
	case keyClear:
		if kb.shown {
			_, rows := kb.opt.Size()
			kb.canvas.clear(rows)
		}
	}
}

// ctrlC clears the line that is shown, or interrupts. A cleared line can be called back.
func (kb *keyboard) ctrlC() {
	if !kb.shown || kb.ed.Len() == 0 {
		kb.interrupted()
		return
	}
	kb.draw() // the same read may hold more
	kb.canvas.end("^C")
	kb.screen.PromptDone()
	kb.screen.Prompt("")
	kb.shelve()
}

// escape is Esc by itself. It stops a turn. At the prompt two of them clear the line, or want
// to go back when there is none.
func (kb *keyboard) escape(k key, at time.Time) {
	switch {
	case !kb.shown:
		if kb.interrupt != nil && !k.followed { // among other bytes it was not typed by itself
			kb.interrupted()
		}
	case kb.escaped.IsZero() || at.Sub(kb.escaped) > twiceWait:
		kb.escaped = at
	case kb.ed.Len() == 0:
		kb.escaped = time.Time{}
		kb.act(Rewind)
	default:
		kb.escaped = time.Time{}
		if kb.spoken {
			kb.leaveRows()
			kb.screen.Prompt("")
		}
		kb.shelve()
	}
}

// kept is a line that a key took away; it comes back with the next prompt.
type kept struct {
	snapshot
	text string
	keys []key // typed meanwhile: they belong to the line
}

func (kb *keyboard) act(a Action) {
	kb.kept = &kept{snapshot: kb.ed.snapshot(), text: kb.ed.text()}
	l := kb.line()
	l.Action = a
	kb.ed.restore(snapshot{})
	kb.leaveRows()
	kb.shown = false // its rows are gone already
	kb.finish(result{line: l})
}

// holds says whether a key waits for the line that was taken away.
func (kb *keyboard) holds(k key) bool {
	return kb.kept != nil && !kb.shown && kb.interrupt == nil && k.kind != keyInterrupt
}

// restore begins the wanted line with the text that was handed back, and the text typed
// meanwhile. It returns the keys that are still to be carried out.
func (kb *keyboard) restore(back Draft) []key {
	was := kb.kept
	if was == nil {
		was = &kept{}
	}
	kb.kept = nil
	typed := kb.ed.draft()
	if kb.vi != nil && back.Text == "" && typed.Text == "" {
		kb.vi.reset()
	}
	switch {
	case back.Text == "":
	case typed.Text == "" && back.Text == was.text:
		kb.ed.restore(was.snapshot)
	case strings.HasPrefix(typed.Text, "/"):
		kb.makeRoom(back)
	default:
		kb.ed.load(back.join(typed))
		// A text that ends in a space is about to be gone on with.
		if kb.back = back.Text; typed.Text != "" || strings.TrimSpace(back.Text) != back.Text {
			kb.back = ""
		}
	}
	return was.keys
}

// makeRoom keeps a text that came back, such as a queued line after an interrupt, for the next prompt: a command that
// is typed meanwhile was not meant to be sent as its end.
func (kb *keyboard) makeRoom(text Draft) { kb.aside = text.join(kb.aside) }
