package screen

import (
	"strings"

	"artoo/agent"
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
				t.printCall(r.call, "", 0)
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
		tail := run.unseen(r.Tail, t.lastRun)
		// An error that begins with the object of the call need not repeat it.
		text := strings.TrimPrefix(s.layout.ascii(result(r)), s.layout.object(call)+": ")
		failed := r.Status != agent.CallOK
		ink := style(0)
		if failed && r.Status != agent.CallInterrupted {
			ink = errorStyle
		}
		switch {
		case run.decision == applied && !failed:
			t.print(s.layout.decidedLine("applied once"+s.layout.words("  "+s.layout.object(call), ""), 0))
		case run.started && t.lastRun == call.ID && len(t.work.calls) == 0:
			t.print(s.layout.ranLine(call, text, ink))
		default:
			t.printCall(call, text, ink)
		}
		t.put(s.layout.list(call))
		if failed {
			t.put(s.layout.lastLines(tail, tailLines))
		}
	})
}
