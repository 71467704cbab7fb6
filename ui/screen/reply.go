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
func (t *transcript) show(p []byte) {
	t.work.visible(t.opt.Now())
	if !t.open.shown {
		t.open.shown = true
		t.hideProgress()
		if t.opt.ErrTTY {
			t.gap(answer)
		} else if t.open.plain.before {
			t.outputs.pending = append(t.outputs.pending, '\n')
		}
	}
	t.hideProgress()
	t.outputs.pending = append(t.outputs.pending, p...)
}

func (o *openReply) replying() bool { return o.md != nil && o.shown || o.plain.open }

func (o *openReply) rowIsFree() bool { return (o.md == nil || o.md.row.col == 0) && !o.plain.open }

func (t *transcript) reply(text string) {
	switch {
	case t.opt.Hold && !t.opt.OutTTY:
		if t.open.heldVoid {
			t.open.drop()
		}
		t.open.held.WriteString(text)
		return
	case !t.opt.OutTTY:
		t.plainText(text)
		t.outputs.flush(t.opt.Now())
		return
	}
	if t.open.md == nil {
		opt := t.layout.markdown(t.opt.OutColor, t.layout.answerLabel())
		opt.Out = t.show
		t.open.md = NewMarkdown(opt)
	}
	t.open.md.Add(text)
	if now := t.opt.Now(); now.Sub(t.outputs.flushed) >= interval {
		t.outputs.flush(now)
	}
}

// plainText passes the source on, and holds newlines back until text follows.
func (t *transcript) plainText(text string) {
	body := strings.TrimRight(text, "\n")
	if body == "" {
		t.open.plain.newlines += len(text)
		return
	}
	if !t.open.plain.open {
		t.open.plain.open = true
		if t.open.plain.before {
			t.outputs.pending = append(t.outputs.pending, '\n')
		} else if t.layout.seen() {
			t.gap(answer)
		}
	}
	t.outputs.pending = append(t.outputs.pending, strings.Repeat("\n", t.open.plain.newlines)...)
	t.outputs.pending = append(t.outputs.pending, body...)
	t.open.plain.newlines = len(text) - len(body)
	t.work.visible(t.opt.Now())
}

func (t *transcript) breakRow() {
	t.open.md.Break()
	t.outputs.flush(t.opt.Now())
}

func (t *transcript) closeReply() {
	t.endReasoning()
	if t.open.md != nil {
		t.open.md.Close()
		if t.open.shown && t.opt.ErrTTY {
			t.last = answer
		}
		t.open.plain.before = t.open.plain.before || t.open.shown
		t.open.md, t.open.shown = nil, false
	}
	if t.open.plain.open {
		t.outputs.pending = append(t.outputs.pending, '\n')
		t.open.plain = plainReply{before: true}
		if t.layout.seen() {
			t.last = answer
		}
	}
	t.open.plain.newlines = 0
	t.outputs.flush(t.opt.Now())
}

// holdEnds moves held text to Err: tool calls follow, so it was not the answer.
func (t *transcript) holdEnds() {
	text := t.open.held.String()
	if t.open.heldVoid { // the calls are of a later try, which said nothing
		text = ""
	}
	t.open.drop()
	switch text = strings.Trim(text, "\n"); {
	case strings.TrimSpace(text) == "":
	case t.opt.Profile == Spoken:
		t.print(indented(spokenAnswer+text, ""))
	default:
		t.closeReply()
		t.gap(answer)
		t.put(indented(text, margin))
		if !t.opt.Quiet {
			t.last = answer
		}
	}
}

// Finish ends the turn: the open reply is closed, and a held one is written to Out with one
// newline at its end, also after an interrupt or a fault. It is called when SendMessage has
// returned, before the status or a failure is shown.
func (s *Screen) Finish() {
	s.do(func(t *transcript) {
		t.rest()
		if text := t.open.held.String(); strings.Trim(text, "\n") != "" {
			t.plainText(text)
		}
		t.open.drop()
		t.closeReply()
	})
}

// Discard forgets a reply that was held: it will be given again.
func (s *Screen) Discard() {
	s.do(func(t *transcript) { t.open.drop() })
}

func (o *openReply) drop() {
	o.held.Reset()
	o.heldVoid = false
}
