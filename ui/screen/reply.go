package screen

import "strings"

const spokenAnswer = "artoo: "

// answerLabel stands before an answer.
func (lay *layout) answerLabel() string { return lay.words("", spokenAnswer) }

type plainReply struct {
	open     bool
	newlines int  // held back: the reply ends in exactly one
	before   bool // an earlier reply stands above
}

type openReply struct {
	md    *Markdown       // nil while no reply is open on a terminal
	shown bool            // it has put something on the terminal
	plain plainReply      // where Out is no terminal
	held  strings.Builder // kept back by Hold
	// heldVoid says that the held text came from a failed try: the next text
	// replaces it.
	heldVoid bool
}

// show puts rendered text of an answer on the terminal.
func (s *Screen) show(p []byte) {
	s.work.visible(s.opt.Now())
	if !s.open.shown {
		s.open.shown = true
		s.hideProgress()
		if s.opt.ErrTTY {
			s.gap(answer)
		} else if s.open.plain.before {
			s.outputs.pending = append(s.outputs.pending, '\n')
		}
	}
	s.hideProgress()
	s.outputs.pending = append(s.outputs.pending, p...)
}

func (o *openReply) replying() bool { return o.md != nil && o.shown || o.plain.open }

func (o *openReply) rowIsFree() bool { return (o.md == nil || o.md.row.col == 0) && !o.plain.open }

func (s *Screen) reply(text string) {
	switch {
	case s.opt.Hold && !s.opt.OutTTY:
		if s.open.heldVoid {
			s.open.drop()
		}
		s.open.held.WriteString(text)
		return
	case !s.opt.OutTTY:
		s.plainText(text)
		s.outputs.flush(s.opt.Now())
		return
	}
	if s.open.md == nil {
		opt := s.layout.markdown(s.opt.OutColor, s.layout.answerLabel())
		opt.Out = s.show
		s.open.md = NewMarkdown(opt)
	}
	s.open.md.Add(text)
	if now := s.opt.Now(); now.Sub(s.outputs.flushed) >= interval {
		s.outputs.flush(now)
	}
}

// plainText passes the source on, and holds newlines back until text follows.
func (s *Screen) plainText(text string) {
	body := strings.TrimRight(text, "\n")
	if body == "" {
		s.open.plain.newlines += len(text)
		return
	}
	if !s.open.plain.open {
		s.open.plain.open = true
		if s.open.plain.before {
			s.outputs.pending = append(s.outputs.pending, '\n')
		} else if s.layout.seen() {
			s.gap(answer)
		}
	}
	s.outputs.pending = append(s.outputs.pending, strings.Repeat("\n", s.open.plain.newlines)...)
	s.outputs.pending = append(s.outputs.pending, body...)
	s.open.plain.newlines = len(text) - len(body)
	s.work.visible(s.opt.Now())
}

func (s *Screen) breakRow() {
	s.open.md.Break()
	s.outputs.flush(s.opt.Now())
}

func (s *Screen) closeReply() {
	s.endReasoning()
	if s.open.md != nil {
		s.open.md.Close()
		if s.open.shown && s.opt.ErrTTY {
			s.last = answer
		}
		s.open.plain.before = s.open.plain.before || s.open.shown
		s.open.md, s.open.shown = nil, false
	}
	if s.open.plain.open {
		s.outputs.pending = append(s.outputs.pending, '\n')
		s.open.plain = plainReply{before: true}
		if s.layout.seen() {
			s.last = answer
		}
	}
	s.open.plain.newlines = 0
	s.outputs.flush(s.opt.Now())
}

// holdEnds moves held text to Err: tool calls follow, so it was not the answer.
func (s *Screen) holdEnds() {
	text := s.open.held.String()
	if s.open.heldVoid { // the calls are of a later try, which said nothing
		text = ""
	}
	s.open.drop()
	switch text = strings.Trim(text, "\n"); {
	case strings.TrimSpace(text) == "":
	case s.opt.Profile == Spoken:
		s.print(indented(spokenAnswer+text, ""))
	default:
		s.closeReply()
		s.gap(answer)
		s.put(indented(text, margin))
		if !s.opt.Quiet {
			s.last = answer
		}
	}
}

// Finish ends the turn: the open reply is closed, and a held one is written to Out with one
// newline at its end, also after an interrupt or a fault. It is called when SendMessage has
// returned, before the status or a failure is shown.
func (s *Screen) Finish() {
	s.do(func() {
		s.rest()
		if text := s.open.held.String(); strings.Trim(text, "\n") != "" {
			s.plainText(text)
		}
		s.open.drop()
		s.closeReply()
	})
}

// Discard forgets a reply that was held: it will be given again.
func (s *Screen) Discard() {
	s.do(s.open.drop)
}

func (o *openReply) drop() {
	o.held.Reset()
	o.heldVoid = false
}
