package prompt

func (kb *keyboard) suspend() {
	resume := kb.in.pause()
	kb.complain(kb.release())
	stopped := kb.stop()
	kb.complain(kb.reclaim())
	resume()
	if !stopped {
		kb.canvas.beep()
	}
}

// release gives the terminal back as it was found. The prompt's rows go.
func (kb *keyboard) release() error {
	if kb.shown {
		kb.canvas.erase()
		kb.screen.PromptDone()
	}
	kb.screen.Pause()
	return kb.modes.leave()
}

func (kb *keyboard) reclaim() error {
	err := kb.modes.enter()
	kb.screen.Resume()
	if kb.shown {
		kb.answer.listening, kb.answer.lastInput = false, kb.opt.Clock.Now()
		kb.screen.Prompt("")
	}
	kb.draw()
	return err
}

func (kb *keyboard) resized() {
	if !kb.shown {
		return
	}
	cols, _ := kb.opt.Size()
	if cols != kb.cols && kb.want.again != nil {
		kb.askWhenStill()
	}
	kb.canvas.resized()
	kb.draw()
}

// continued draws the prompt again after a stop, and at a question all that it is about: others
// may have written below it.
func (kb *keyboard) continued() {
	kb.resized()
	if kb.shown && kb.want.again != nil {
		kb.answer.moved, kb.answer.listening = true, false
		kb.askAgain()
	}
}

func (kb *keyboard) above(print func()) {
	if !kb.shown {
		print()
		return
	}
	kb.leaveRows()
	print()
	kb.screen.Prompt("")
	kb.draw()
}

// leaveRows makes room for the next output: the prompt's rows go, or stay where nothing is
// drawn over.
func (kb *keyboard) leaveRows() {
	if kb.spoken {
		kb.canvas.end("")
		kb.screen.PromptDone()
		return
	}
	kb.canvas.erase()
	kb.screen.PromptErased()
}

func (kb *keyboard) complain(err error) {
	if err != nil {
		kb.above(func() { kb.Prompt.complain(err) })
	}
}

func (kb *keyboard) turned(good bool) {
	switch {
	case kb.sections == nil || !kb.sections.ran:
	case good:
		kb.sections.exit = 0
	default:
		kb.sections.exit = 1
	}
}

// abandon leaves the cursor at the start of a free row, and paste mode off. Any goroutine may
// call it: the program is about to end.
func (kb *keyboard) abandon() {
	if kb.canvas.drawn.Load() {
		kb.screen.Draw([]byte(kb.canvas.off() + "\n"))
		return
	}
	kb.screen.Pause()            // takes the transient line away
	kb.screen.Draw([]byte("\n")) // an answer may go somewhere else that is this terminal all the same
}

func (kb *keyboard) close() error {
	if kb.shown {
		kb.end()
	}
	return kb.modes.leave()
}
