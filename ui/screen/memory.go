package screen

// MemoryQuestion asks whether a line is added to an instruction file. All its texts
// may come from outside.
type MemoryQuestion struct {
	File string // as shown
	Diff string
}

// Memory prints what becomes of the file and returns the line to ask with. It prints
// even when Quiet is set. left says that a part was left to the pager.
func (s *Screen) Memory(q MemoryQuestion) (prompt string, left bool) {
	s.do(func() {
		s.startAsking()
		s.hideProgress()
		s.closeReply()
		b := asking{s: s, cut: true}
		b.changes(q.Diff)
		if text := warning(b.seen, "line"); text != "" {
			b.WriteString(s.bodyLine(text, true))
		}
		left = b.left
		s.must(b.String())
	})
	return s.confirmLine("remember in", q.File), left
}

// MemoryHelp says what the answers mean.
func (s *Screen) MemoryHelp() {
	s.do(func() {
		s.must(s.wrap("y adds the line, n leaves the file as it is, p shows all in the pager; Enter alone means no",
			"  ", "  "))
	})
}

// MemoryDecided prints what the user said.
func (s *Screen) MemoryDecided(yes bool) {
	s.do(func() {
		s.endAsking()
		text := "not added"
		if yes {
			text = "added; the model gets it with your next message; /undo removes it"
		}
		s.must(s.decidedLine(text))
	})
}
