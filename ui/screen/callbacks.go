package screen

import (
	"strings"

	"artoo/agent"
)

// OnThinking implements agent.Callbacks: a request begins. Behind the notice of
// a retry it is that of the next try, which first waits.
func (s *Screen) OnThinking() {
	s.do(func() {
		now := s.opt.Now()
		s.endAsking()
		if s.busy.doing = waiting; !s.busy.until.After(now) {
			s.busy = busy{doing: waiting, since: now, said: now}
		}
	})
}

// OnThinkingDone implements agent.Callbacks: from a reply's first byte on the
// model is known to think, and may for minutes before its first word.
func (s *Screen) OnThinkingDone() {
	s.do(func() {
		if s.busy.doing == waiting {
			s.hear(thinking, 0)
		}
	})
}

// OnReasoning implements agent.Callbacks: counted, and shown only when Verbose is set.
func (s *Screen) OnReasoning(text string) {
	s.do(func() {
		s.hear(thinking, len(text))
		if !s.opt.Verbose {
			return
		}
		s.reason.WriteString(text)
		all := s.reason.String()
		if end := strings.LastIndexByte(all, '\n'); end >= 0 {
			s.reason.Reset()
			s.aside(s.layout.reasoning(all[:end]))
			s.reason.WriteString(all[end+1:])
		}
	})
}

// endReasoning shows the line of reasoning that is still open.
func (s *Screen) endReasoning() {
	if text := s.reason.String(); text != "" {
		s.reason.Reset()
		s.aside(s.layout.reasoning(text))
	}
}

// reasoning is whole lines of what the model thinks, told from its answer.
func (lay *layout) reasoning(text string) string {
	return lay.prose(text, lay.before("thinking: "))
}

// OnText implements agent.Callbacks: a piece of the answer.
func (s *Screen) OnText(text string) {
	if text == "" {
		return
	}
	s.do(func() {
		s.hear(writing, len(text))
		s.endReasoning()
		s.reply(text)
	})
}

// input counts what comes of a call that the model is writing. The text before the call
// is complete.
func (s *Screen) input(in agent.ToolInput) {
	if in.Parent != "" {
		if r := s.running(in.Parent); r != nil {
			r.input = in
		}
		return
	}
	if s.busy.doing != calling {
		s.closeReply()
	} else if s.busy.index != in.Index {
		s.busy.since = s.opt.Now()
	}
	s.hear(calling, 0)
	s.busy.tool, s.busy.index, s.busy.bytes = in.Tool, in.Index, in.Bytes
}

// OnToolCall implements agent.Callbacks: the reply's text is over, a call
// begins.
func (s *Screen) OnToolCall(call agent.Call) {
	s.do(func() {
		s.busy = busy{}
		s.hideProgress()
		s.holdEnds()
		s.closeReply()
		s.beginParent(call)
		s.calls = append(s.calls, &running{call: call, since: s.opt.Now()})
	})
}

// beginParent prints the line of the call that a sub-agent works for above its first
// own one.
func (s *Screen) beginParent(call agent.Call) {
	r := s.running(call.Parent)
	if call.Parent == "" || r == nil {
		return
	}
	if r.input = (agent.ToolInput{}); !r.started {
		r.started, r.said = true, s.opt.Now()
		s.printCall(r.call, "", 0)
	}
}

// OnToolOutput implements agent.Callbacks. The last line stands in the progress line;
// of a call that lasts, a conversation has the last lines below it from time to time.
func (s *Screen) OnToolOutput(call agent.Call, chunk string) {
	s.do(func() {
		for _, r := range s.calls {
			if r.call.ID == call.ID {
				r.keep(chunk)
			}
		}
	})
}

// OnToolResult implements agent.Callbacks: one line, and the last lines of what
// failed.
func (s *Screen) OnToolResult(call agent.Call, r agent.CallResult) {
	s.do(func() {
		s.endAsking()
		run := &running{call: call}
		for i, c := range s.calls {
			if c.call.ID == call.ID {
				run = c
				s.calls = append(s.calls[:i:i], s.calls[i+1:]...)
				break
			}
		}
		if run.decision == denied && r.Status != agent.CallOK && r.Status != agent.CallFailed {
			return // the decision line has said it
		}
		if run.decision == told && r.Status == agent.CallOK {
			return
		}
		tail := s.unseen(run, r.Tail)
		// An error that begins with what the call works on need not say it again.
		text := strings.TrimPrefix(s.layout.ascii(result(r)), s.layout.object(call)+": ")
		failed := r.Status != agent.CallOK
		ink := style(0)
		if failed && r.Status != agent.CallInterrupted {
			ink = errorStyle
		}
		switch {
		case run.decision == applied && !failed:
			s.print(s.layout.appliedLine(call))
		case run.started && s.lastRun == call.ID && len(s.calls) == 0:
			s.print(s.layout.ranLine(call, text, ink))
		default:
			s.printCall(call, text, ink)
		}
		s.put(s.layout.list(call))
		if failed {
			s.put(s.layout.tail(tail))
		}
	})
}
