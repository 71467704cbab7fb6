package ui

import (
	"artoo/ui/screen"
	"errors"
)

// suspend stops artoo as the kernel would, with the terminal as it was found.
func (f *keyReader) suspend() {
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
func (f *keyReader) release() error {
	if f.shown {
		f.frame.erase()
		f.screen.PromptDone()
	}
	f.screen.Pause()
	return f.modes.leave()
}

func (f *keyReader) reclaim() error {
	err := f.modes.enter()
	f.screen.Resume()
	if f.shown {
		f.answer.listening, f.answer.lastInput = false, f.clock.Now()
		f.screen.Prompt("")
	}
	f.draw()
	return err
}

func (f *keyReader) resized() {
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
func (f *keyReader) continued() {
	f.resized()
	if f.shown && f.want.again != nil {
		f.answer.moved, f.answer.listening = true, false
		f.askAgain()
	}
}

// above prints something where the prompt stands, and the prompt again below.
func (f *keyReader) above(print func()) {
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
func (f *keyReader) leaveRows() {
	if f.spoken {
		f.frame.end("")
		f.screen.PromptDone()
		return
	}
	f.frame.erase()
	f.screen.PromptErased()
}

// complain says what is wrong with the terminal, above the prompt.
func (f *keyReader) complain(err error) {
	if err != nil {
		f.above(func() { f.console.complain(err) })
	}
}

// turned is told how a turn ended, for the terminal's marks.
func (f *keyReader) turned(good bool) {
	switch {
	case f.marks == nil || !f.marks.ran:
	case good:
		f.marks.exit = 0
	default:
		f.marks.exit = 1
	}
}

// crashed implements terminalFront.
func (f *keyReader) crashed() {
	if f.frame.drawn.Load() {
		f.screen.Draw([]byte(f.frame.off() + "\n"))
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
func (f *keyReader) Close() error {
	if f.shown {
		f.end()
	}
	return errors.Join(f.ed.close(), f.modes.leave())
}
