package screen

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
)

// OnThinking implements agent.Callbacks: a request begins. Behind the notice of a retry it is
// the next try's, which first waits.
func (s *Screen) OnThinking() {
	s.do(func(t *transcript) {
		now := s.opt.Now()
		t.endAsking()
		if t.work.busy.doing = waiting; !t.work.busy.until.After(now) {
			t.work.busy = busy{doing: waiting, since: now, said: now}
		}
	})
}

// OnThinkingDone implements agent.Callbacks: the model may think for minutes before its first
// word.
func (s *Screen) OnThinkingDone() {
	s.do(func(t *transcript) {
		if t.work.busy.doing == waiting {
			t.work.hear(thinking, 0, s.opt.Now())
		}
	})
}

// OnReasoning implements agent.Callbacks: counted, and shown only when Verbose is set.
func (s *Screen) OnReasoning(text string) {
	s.do(func(t *transcript) {
		t.work.hear(thinking, len(text), s.opt.Now())
		if !s.opt.Verbose {
			return
		}
		t.reason.WriteString(text)
		all := t.reason.String()
		if end := strings.LastIndexByte(all, '\n'); end >= 0 {
			t.reason.Reset()
			t.aside(s.layout.reasoning(all[:end]))
			t.reason.WriteString(all[end+1:])
		}
	})
}

func (t *transcript) endReasoning() {
	if text := t.reason.String(); text != "" {
		t.reason.Reset()
		t.aside(t.layout.reasoning(text))
	}
}

func (lay *layout) reasoning(text string) string {
	return lay.prose(text, lay.before("thinking: "))
}

// OnText implements agent.Callbacks: a piece of the answer.
func (s *Screen) OnText(text string) {
	if text == "" {
		return
	}
	s.do(func(t *transcript) {
		t.work.hear(writing, len(text), s.opt.Now())
		t.endReasoning()
		t.reply(text)
	})
}

// input counts the bytes of a call that the model is writing. The text before it is complete.
func (t *transcript) input(in agent.ToolInput) {
	if in.Parent != "" {
		if r := t.work.running(in.Parent); r != nil {
			r.input = in
		}
		return
	}
	if t.work.busy.doing != calling {
		t.closeReply()
	} else if t.work.busy.index != in.Index {
		t.work.busy.since = t.opt.Now()
	}
	t.work.hear(calling, 0, t.opt.Now())
	t.work.busy.tool, t.work.busy.index, t.work.busy.bytes = in.Tool, in.Index, in.Bytes
}

// OnToolCall implements agent.Callbacks: the reply's text is over.
func (s *Screen) OnToolCall(call agent.Call) {
	s.do(func(t *transcript) {
		t.work.busy = busy{}
		t.hideProgress()
		t.holdEnds()
		t.closeReply()
		if r := t.work.running(call.Parent); call.Parent != "" && r != nil {
			if r.input = (agent.ToolInput{}); !r.started { // its own line stands above those of its sub-agent
				r.started, r.said = true, s.opt.Now()
				t.printCall(r.call, "", markBegun)
			}
		}
		t.work.calls = append(t.work.calls, &running{call: call, since: s.opt.Now()})
	})
}

// OnToolOutput implements agent.Callbacks. The last line stands in the progress line; a call
// that lasts has its last lines below it from time to time.
func (s *Screen) OnToolOutput(call agent.Call, chunk string) {
	s.do(func(t *transcript) {
		for _, r := range t.work.calls {
			if r.call.ID == call.ID {
				r.keep(chunk)
			}
		}
	})
}

// OnToolResult implements agent.Callbacks: one line, and the last lines of a failed call.
func (s *Screen) OnToolResult(call agent.Call, r agent.CallResult) {
	s.do(func(t *transcript) {
		t.endAsking()
		run := &running{call: call}
		for i, c := range t.work.calls {
			if c.call.ID == call.ID {
				run = c
				t.work.calls = append(t.work.calls[:i:i], t.work.calls[i+1:]...)
				break
			}
		}
		if run.decision == denied && r.Status != agent.CallOK && r.Status != agent.CallFailed {
			return // the decision line has said it
		}
		if run.decision == final && r.Status == agent.CallOK {
			return
		}
		t.ended(run, r)
	})
}

// ended shows how a call ended: behind its object, or below its line where that stands right above.
func (t *transcript) ended(run *running, r agent.CallResult) {
	lay, call := t.layout, run.call
	tail, changed := run.unseen(r.Tail, t.lastRun), ""
	if run.effects == nil {
		r.Summary, changed = lay.applied(r.Summary, r.Applied)
	}
	// An error that begins with the object of the call need not repeat it.
	text := strings.TrimPrefix(lay.ascii(result(r)), lay.object(call)+": ")
	m := markFailed
	switch r.Status {
	case agent.CallOK:
		m = markDone
	case agent.CallInterrupted:
		m = markWarn
	}
	if lay.rich() {
		text, m = run.outcome(lay, text, m, r)
	}
	below := run.started && t.lastRun == call.ID
	switch {
	case lay.rich() && below:
		t.belongs(call, lay.ranLine(call, text, m))
	case run.decision == applied && r.Status == agent.CallOK:
		t.print(lay.decidedLine("applied"+lay.words("  "+lay.object(call), ""), unmarkedLine))
	case below && len(t.work.calls) == 0:
		t.print(lay.ranLine(call, text, m))
	default:
		t.printCall(call, text, m)
	}
	rows := lay.list(call)
	if r.Status != agent.CallOK {
		rows += lay.lastLines(tail, tailLines)
	}
	if rows += changed; rows != "" {
		t.belongs(call, rows)
	}
}

// outcome is the outcome of a call in the words of a rich terminal. Of a question that was answered it says the answer.
func (r *running) outcome(lay *layout, text string, m mark, result agent.CallResult) (string, mark) {
	switch ok := result.Status == agent.CallOK; {
	case r.decision == applied && ok:
		return "applied", m
	case r.effects != nil && ok && !r.lost:
		return "kept: " + lay.counted(*r.effects), m
	case r.effects != nil && ok:
		m = markFailed
	}
	if parts := size().FindStringSubmatch(text); parts != nil {
		added, _ := strconv.Atoi(parts[1])
		removed, _ := strconv.Atoi(parts[2])
		return lay.size(added, removed), m
	}
	return seconds().ReplaceAllString(text, "$1 s"), m
}

// OnNotice implements agent.Callbacks: one line, and none for reports of usage.
func (s *Screen) OnNotice(n agent.Notice) {
	if n.Answered != nil {
		s.Decided(n.Answered.Question, n.Answered.Answer)
		return
	}
	s.do(func(t *transcript) {
		switch {
		case n.Retry != nil:
			t.retry(n)
		case n.Kind == agent.NoticeInput:
			t.input(*n.Input)
		case n.Kind == agent.NoticeUsage:
			if b := t.work.busy; b.doing == calling { // the reply is complete
				t.work.hear(checking, 0, s.opt.Now())
				t.work.busy.tool = b.tool
			}
		case n.Text == "":
		case n.Kind == agent.NoticeStep:
			// As with a tool call, the text before a step of the provider's own was not the answer.
			t.rest()
			t.holdEnds()
			t.print(s.layout.said(markBegun, line(n.Text)))
			t.work.hear(thinking, 0, s.opt.Now()) // the provider works on
		default:
			text, rows := s.layout.applied(n.Text, n.Applied)
			t.aside(s.layout.notice(either(n.Kind == agent.NoticeWarning, markWarn, markBegun), text) + rows)
		}
	})
}

// retry reports a failed try. The held part of its reply is void when the next one starts.
func (t *transcript) retry(n agent.Notice) {
	r := n.Retry
	t.open.heldVoid = t.open.heldVoid || r.Discard
	t.closeReply()
	if r.Try <= 2 {
		t.tries = r.Tries
	}
	t.print(t.layout.retryLine(n, t.tries))
	now := t.opt.Now()
	t.work.busy = busy{doing: waiting, since: now.Add(r.Wait), said: now.Add(r.Wait), until: now.Add(r.Wait)}
	if t.layout.moving() {
		t.work.busy.since = now // the wait itself is counted down
	}
}

// retryLine names the failure and when the next try comes, or the change of the next one differently.
func (lay *layout) retryLine(n agent.Notice, tries int) string {
	r := n.Retry
	var text string
	switch {
	case n.Kind != agent.NoticeRetry && n.Text != "": // nothing failed
		return lay.notice(markBegun, n.Text)
	case r.NewKey:
		text = retryReason(r.Err) + ". Trying again with a new one"
	default:
		// Another fault allows another number: two would not agree.
		of := either(r.Tries == tries, fmt.Sprintf(" of %d", r.Tries), "")
		text = fmt.Sprintf("%s. Try %d%s in %s", retryReason(r.Err), r.Try, of, lay.spanWords(wholeWait(r.Wait)))
		if lay.opt.ErrTTY {
			text += ", Ctrl-C stops"
		}
	}
	return lay.said(markWarn, line(text+"."))
}

// wholeWait is a wait as it is shown: never less than a second.
func wholeWait(d time.Duration) time.Duration {
	if d > 0 && d < time.Second {
		return time.Second
	}
	return d
}

func retryReason(e *provider.Error) string {
	if e == nil {
		return "the request failed"
	}
	status := ""
	if e.Status != 0 {
		status = fmt.Sprintf(" (%d)", e.Status)
	}
	why := line(e.Message)
	if why == "" && e.Err != nil {
		why = line(e.Err.Error())
	}
	why = strings.TrimRight(why, ".")
	switch e.Kind {
	case provider.KindOverloaded:
		return "the API is overloaded" + status
	case provider.KindRateLimit:
		return "the rate limit is reached" + status
	case provider.KindTimeout:
		return "no answer in time" + status
	case provider.KindNetwork:
		return prefixed("the connection failed", why) + status
	case provider.KindAuth:
		return prefixed("the key was refused", why) + status
	}
	return prefixed("the API failed", why) + status
}

func (lay *layout) notice(m mark, text string) string {
	text = either(m == markWarn && !lay.rich(), "warning: ", "") + strings.TrimSpace(text)
	if !strings.Contains(text, "\n") {
		return lay.said(m, line(text))
	}
	return lay.led(m, "", lay.prose(text, lay.before("note: ")))
}

// note is one line of status.
func (lay *layout) note(text string) string {
	if lay.opt.Profile == Spoken {
		return lay.wrap("note: "+strings.TrimRight(text, ".")+".", "", "")
	}
	return lay.wrap(text, margin, margin)
}

// said is one line of status behind a mark, where lines have marks.
func (lay *layout) said(m mark, text string) string {
	return lay.led(m, "", lay.note(text))
}

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
	plain plainReply      // where Out is not a terminal
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
	for t.queued != "" {
		end := strings.IndexByte(text, '\n') + 1
		if end == 0 {
			break
		}
		if t.open.md.Add(text[:end]); t.open.rowIsFree() {
			t.echo()
		}
		text = text[end:]
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
	t.echo()
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
