package screen

// Prompt writes the prompt and leaves the cursor behind it; whatever was going
// on is over. text is shown as it is and must be safe (Question's line is). From
// now until PromptDone the last rows belong to the line editor, which writes
// with Draw.
func (s *Screen) Prompt(text string) {
	s.do(func() {
		if !s.asking {
			s.rest()
		}
		s.hideTransient()
		s.closeReply()
		if !s.asking {
			s.gap(promptLine)
		}
		s.sink.chrome(s.opt.Now(), s.ascii(text))
		s.prompt = true
	})
}

// Draw passes bytes of the line editor on to Err as they are, escape sequences
// included: it must have made its text safe. Only between Prompt and PromptDone.
func (s *Screen) Draw(p []byte) {
	s.do(func() {
		s.hideTransient()
		s.sink.chrome(s.opt.Now(), string(p))
	})
}

// PromptDone says that the line was entered and the cursor stands at the start
// of a new one.
func (s *Screen) PromptDone() {
	s.do(func() {
		s.prompt = false
		if s.last = promptLine; s.asking {
			s.last = chrome
		}
	})
}

// PromptErased says that the prompt's rows were taken away and the cursor stands
// where they began: what is printed now takes their place.
func (s *Screen) PromptErased() {
	s.do(func() {
		s.prompt = false
		s.last = chrome
	})
}
