package screen

import "strings"

// spokenAnswer stands before an answer that is spoken.
const spokenAnswer = "artoo: "

// plainReply is a reply on an Out that is no terminal.
type plainReply struct {
	open     bool
	newlines int  // held back: the reply ends in exactly one
	before   bool // an earlier reply stands above
}

// replyOut takes what Markdown rendered.
type replyOut struct{ s *Screen }

func (w replyOut) Write(p []byte) (int, error) {
	s := w.s
	s.visible()
	if !s.shown {
		s.shown = true
		s.hideProgress()
		if s.opt.ErrTTY {
			s.gap(answer)
		} else if s.plain.before {
			s.sink.pending = append(s.sink.pending, '\n')
		}
	}
	s.hideProgress()
	s.sink.pending = append(s.sink.pending, p...)
	return len(p), nil
}

// replying reports whether a reply is open.
func (s *Screen) replying() bool { return s.md != nil && s.shown || s.plain.open }

// reply takes a piece of the model's text.
func (s *Screen) reply(text string) {
	switch {
	case s.opt.Hold && !s.opt.OutTTY:
		if s.heldVoid {
			s.drop()
		}
		s.held.WriteString(text)
		return
	case !s.opt.OutTTY:
		s.plainText(text)
		s.sink.flush(s.opt.Now())
		return
	}
	if s.md == nil {
		label := ""
		if s.opt.Profile == Spoken {
			label = spokenAnswer
		}
		s.md = NewMarkdown(MarkdownOptions{
			Out: replyOut{s}, Width: s.opt.Width, Color: s.opt.OutColor, Palette: s.opt.Palette,
			Links: s.opt.Links && s.opt.Profile == Rich, Spoken: s.opt.Profile == Spoken, Label: label,
		})
	}
	s.md.WriteString(text) // replyOut never fails; the sink keeps write errors
	if now := s.opt.Now(); now.Sub(s.sink.flushed) >= interval {
		s.sink.flush(now)
	}
}

// plainText passes the source on, holding newlines back until text follows.
func (s *Screen) plainText(text string) {
	body := strings.TrimRight(text, "\n")
	if body == "" {
		s.plain.newlines += len(text)
		return
	}
	if !s.plain.open {
		s.plain.open = true
		if s.plain.before {
			s.sink.pending = append(s.sink.pending, '\n')
		} else if s.layout.seen() {
			s.gap(answer)
		}
	}
	s.sink.pending = append(s.sink.pending, strings.Repeat("\n", s.plain.newlines)...)
	s.sink.pending = append(s.sink.pending, body...)
	s.plain.newlines = len(text) - len(body)
	s.visible()
}

// breakRow ends the open row of the reply.
func (s *Screen) breakRow() {
	s.md.Break()
	s.sink.flush(s.opt.Now())
}

// closeReply ends the open reply, if there is one.
func (s *Screen) closeReply() {
	s.endReasoning()
	if s.md != nil {
		s.md.Close()
		if s.shown && s.opt.ErrTTY {
			s.last = answer
		}
		s.plain.before = s.plain.before || s.shown
		s.md, s.shown = nil, false
	}
	if s.plain.open {
		s.sink.pending = append(s.sink.pending, '\n')
		s.plain = plainReply{before: true}
		if s.layout.seen() {
			s.last = answer
		}
	}
	s.plain.newlines = 0
	s.sink.flush(s.opt.Now())
}

// holdEnds moves what was held to Err: tool calls follow, so it was not the
// answer.
func (s *Screen) holdEnds() {
	text := s.held.String()
	if s.heldVoid { // the calls are of a later try, which said nothing
		text = ""
	}
	s.drop()
	switch text = strings.Trim(text, "\n"); {
	case strings.TrimSpace(text) == "":
	case s.opt.Profile == Spoken:
		s.print(indented(spokenAnswer+text, ""))
	default:
		s.putAnswer(indented(text, margin))
	}
}

// putAnswer puts a text of the model into the transcript, set apart as an answer is.
// Where it is heard a blank line would say nothing.
func (s *Screen) putAnswer(rows string) {
	s.closeReply()
	s.gap(answer)
	s.put(rows)
	if !s.opt.Quiet {
		s.last = answer
	}
}

// Finish ends the turn: the open reply is closed, and one that was held is
// written to Out with one newline at its end, also when it is only what came
// before an interrupt or a fault. Whoever called SendMessage calls Finish when
// it has returned, before the status or a failure is shown.
func (s *Screen) Finish() {
	s.do(func() {
		s.rest()
		if text := s.held.String(); strings.Trim(text, "\n") != "" {
			s.plainText(text)
		}
		s.drop()
		s.closeReply()
	})
}

// Discard forgets a reply that was held: it will be given again.
func (s *Screen) Discard() {
	s.do(s.drop)
}

func (s *Screen) drop() {
	s.held.Reset()
	s.heldVoid = false
}
