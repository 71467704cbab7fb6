package ui

import (
	"time"
)

// special carries out a key that wants more than the line changed. During a turn
// there is nobody to do it, but what a running command wrote so far can be shown.
func (f *keyReader) special(kind keyKind) {
	if !f.shown {
		if kind == keyOutput && f.interrupt != nil && f.screen.SoFar() {
			return
		}
		f.frame.beep()
		return
	}
	switch kind {
	case keyTab:
		f.completeLine()
	case keySearch, keySearchBack:
		f.startSearch()
	case keyMode:
		f.act(actMode)
	case keyOutput:
		f.act(actOutput)
	case keyEdit:
		f.act(actEdit)
	}
}

// control carries out the keys that mean the same everywhere.
func (f *keyReader) control(kind keyKind) {
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

// ctrlC clears the line that is shown; if there is nothing to clear it is an
// interrupt. A cleared line can be called back.
func (f *keyReader) ctrlC() {
	if !f.shown || len(f.ed.line) == 0 {
		f.interrupted()
		return
	}
	f.draw() // what came in the same read
	f.frame.end("^C")
	f.screen.PromptDone()
	f.screen.Prompt("")
	f.shelve()
}

// escape is Esc by itself. In a turn it stops it. At the prompt two of them
// clear the line, or want to go back when there is none.
func (f *keyReader) escape(k key, at time.Time) {
	switch {
	case !f.shown:
		if f.interrupt != nil && !k.followed { // among other bytes it was not typed by itself
			f.interrupted()
		}
	case f.escaped.IsZero() || at.Sub(f.escaped) > leaveWait:
		f.escaped = at
	case len(f.ed.line) == 0:
		f.escaped = time.Time{}
		f.act(actRewind)
	default:
		f.escaped = time.Time{}
		if f.spoken {
			f.leaveRows()
			f.screen.Prompt("")
		}
		f.shelve()
	}
}

// kept is a line that a key took away, to have something done that needs its
// rows. It comes back with the next prompt as it was.
type kept struct {
	snapshot
	text string
	keys []key // typed meanwhile: they belong to the line
}

// act finishes the wanted line with an action.
func (f *keyReader) act(a action) {
	f.kept = &kept{snapshot: f.ed.snapshot(), text: f.ed.text()}
	l := f.line()
	l.action = a
	f.ed.restore(snapshot{})
	f.leaveRows()
	f.shown = false // its rows are gone already
	f.finish(result{line: l})
}

// holds says whether a key waits for the line that was taken away: between the
// prompts, and not for a turn that was begun instead.
func (f *keyReader) holds(k key) bool {
	return f.kept != nil && !f.shown && f.interrupt == nil && k.kind != keyInterrupt
}

// restore begins the wanted line: with the text that was handed back, and after
// that what was typed meanwhile. It returns the keys that are still to be
// carried out.
func (f *keyReader) restore(back draft) []key {
	was := f.kept
	if was == nil {
		was = &kept{}
	}
	f.kept = nil
	typed := f.ed.draft()
	if f.vi != nil && back.text == "" && typed.text == "" {
		f.vi.reset()
	}
	switch {
	case back.text == "":
	case typed.text == "" && back.text == was.text:
		f.ed.restore(was.snapshot)
	default:
		f.ed.load(back.join(typed))
	}
	return was.keys
}
