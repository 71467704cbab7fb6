package screen

import (
	"strings"

	"artoo/agent"
)

// OnThinking implements agent.Callbacks: a request begins. Behind the notice of a retry it is
// the next try's, which first waits.
func (s *Screen) OnThinking() {
	s.do(func() {
		now := s.opt.Now()
		s.endAsking()
		if s.work.busy.doing = waiting; !s.work.busy.until.After(now) {
			s.work.busy = busy{doing: waiting, since: now, said: now}
		}
	})
}

// OnThinkingDone implements agent.Callbacks: the model may think for minutes before its first
// word.
func (s *Screen) OnThinkingDone() {
	s.do(func() {
		if s.work.busy.doing == waiting {
			s.work.hear(thinking, 0, s.opt.Now())
		}
	})
}

// OnReasoning implements agent.Callbacks: counted, and shown only when Verbose is set.
func (s *Screen) OnReasoning(text string) {
	s.do(func() {
		s.work.hear(thinking, len(text), s.opt.Now())
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

func (s *Screen) endReasoning() {
	if text := s.reason.String(); text != "" {
		s.reason.Reset()
		s.aside(s.layout.reasoning(text))
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
	s.do(func() {
		s.work.hear(writing, len(text), s.opt.Now())
		s.endReasoning()
		s.reply(text)
	})
}

// input counts the bytes of a call that the model is writing. The text before it is complete.
func (s *Screen) input(in agent.ToolInput) {
	if in.Parent != "" {
		if r := s.work.running(in.Parent); r != nil {
			r.input = in
		}
		return
	}
	if s.work.busy.doing != calling {
		s.closeReply()
	} else if s.work.busy.index != in.Index {
		s.work.busy.since = s.opt.Now()
	}
	s.work.hear(calling, 0, s.opt.Now())
	s.work.busy.tool, s.work.busy.index, s.work.busy.bytes = in.Tool, in.Index, in.Bytes
}

// OnToolCall implements agent.Callbacks: the reply's text is over.
func (s *Screen) OnToolCall(call agent.Call) {
	s.do(func() {
		s.work.busy = busy{}
		s.hideProgress()
		s.holdEnds()
		s.closeReply()
		if r := s.work.running(call.Parent); call.Parent != "" && r != nil {
			if r.input = (agent.ToolInput{}); !r.started { // its own line stands above those of its sub-agent
				r.started, r.said = true, s.opt.Now()
				s.printCall(r.call, "", 0)
			}
		}
		s.work.calls = append(s.work.calls, &running{call: call, since: s.opt.Now()})
	})
}

// OnToolOutput implements agent.Callbacks. The last line stands in the progress line; a call
// that lasts has its last lines below it from time to time.
func (s *Screen) OnToolOutput(call agent.Call, chunk string) {
	s.do(func() {
		for _, r := range s.work.calls {
			if r.call.ID == call.ID {
				r.keep(chunk)
			}
		}
	})
}

// OnToolResult implements agent.Callbacks: one line, and the last lines of a failed call.
func (s *Screen) OnToolResult(call agent.Call, r agent.CallResult) {
	s.do(func() {
		s.endAsking()
		run := &running{call: call}
		for i, c := range s.work.calls {
			if c.call.ID == call.ID {
				run = c
				s.work.calls = append(s.work.calls[:i:i], s.work.calls[i+1:]...)
				break
			}
		}
		if run.decision == denied && r.Status != agent.CallOK && r.Status != agent.CallFailed {
			return // the decision line has said it
		}
		if run.decision == final && r.Status == agent.CallOK {
			return
		}
		tail := run.unseen(r.Tail, s.lastRun)
		// An error that begins with the object of the call need not repeat it.
		text := strings.TrimPrefix(s.layout.ascii(result(r)), s.layout.object(call)+": ")
		failed := r.Status != agent.CallOK
		ink := style(0)
		if failed && r.Status != agent.CallInterrupted {
			ink = errorStyle
		}
		switch {
		case run.decision == applied && !failed:
			s.print(s.layout.decidedLine("applied once"+s.layout.words("  "+s.layout.object(call), ""), 0))
		case run.started && s.lastRun == call.ID && len(s.work.calls) == 0:
			s.print(s.layout.ranLine(call, text, ink))
		default:
			s.printCall(call, text, ink)
		}
		s.put(s.layout.list(call))
		if failed {
			s.put(s.layout.lastLines(tail, tailLines))
		}
	})
}
