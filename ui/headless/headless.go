package headless

import (
	"context"
	"errors"
	"fmt"
	"io"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/screen"
)

// Sender is the agent.
type Sender interface {
	SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error)
}

// Asker puts a question to a person, as agent.Callbacks' Ask does.
type Asker func(ctx context.Context, q agent.Question) (agent.Answer, error)

// Runner runs one message. All fields but Ask are needed.
type Runner struct {
	Agent  Sender
	Format Format
	Out    io.Writer      // stdout
	Screen *screen.Screen // progress on stderr; in text format it also writes the answer
	Ask    Asker          // nil: nobody is there
	Info   Info
	// Stopped is called when stdout cannot be written: the run must end. It may
	// be called several times.
	Stopped func(error)
}

// Run sends the message. It returns what came of it and the failure that decides
// the exit code: nil, the error of the turn, or that a call was refused because
// nobody could be asked. The answer is on stdout when it returns; the result
// object is not, see WriteResult.
func (r *Runner) Run(ctx context.Context, text string) (*agent.Response, *agent.Failure) {
	cb := &callbacks{Screen: r.Screen, runner: r}
	if r.Format == JSONL {
		cb.event(map[string]any{"type": "session", "v": 1, "session_id": r.Info.SessionID, "provider": r.Info.Provider, "model": r.Info.Model})
	}
	response, err := r.Agent.SendMessage(ctx, text, cb)
	failure := agent.Classify(err)
	r.Screen.Finish()
	if cb.failed != nil && failure == nil {
		failure = outputFailure(cb.failed)
	}
	if failure == nil {
		failure = unanswered(response.Denied)
	}
	return response, failure
}

func outputFailure(err error) *agent.Failure {
	return &agent.Failure{Kind: agent.KindInternal, What: "stdout", Err: err, Hint: "check where stdout goes: a full disk, or a reader that left"}
}

// unanswered is the failure of a run in which somebody was missed.
func unanswered(denied []agent.Denial) *agent.Failure {
	n, hint := 0, ""
	for _, d := range denied {
		if d.Nobody {
			n++
			if hint == "" && d.Rule != "" {
				hint = "--allow " + ShellQuote(d.Rule)
			}
		}
	}
	if n == 0 {
		return nil
	}
	what := "a call was"
	if n > 1 {
		what = fmt.Sprintf("%d calls were", n)
	}
	return &agent.Failure{Kind: agent.KindApproval, Err: errors.New(what + " refused, since nobody is there to ask"), Hint: hint}
}

// callbacks shows progress through the screen, writes events in jsonl, and
// answers questions.
type callbacks struct {
	*screen.Screen
	runner *Runner
	failed error // the first write that did not go through
}

// Ask asks the person there is, or says which rule would have done.
func (c *callbacks) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	answer, err := agent.Answer{}, agent.ErrNobody
	if c.runner.Ask != nil {
		answer, err = c.runner.Ask(ctx, q)
	}
	if errors.Is(err, agent.ErrNobody) {
		f := &agent.Failure{Kind: agent.KindApproval, What: "denied: " + q.Call.Access.Verb + " " + q.Call.Access.Object, Err: errors.New("nobody is there to ask")}
		if q.Rule != "" {
			f.Hint = "artoo --allow " + ShellQuote(q.Rule)
		}
		c.Screen.Failure(f)
	}
	if c.runner.Format == JSONL {
		verdict := string(answer.Verdict)
		if err != nil || answer.Verdict == agent.No {
			verdict = "no"
		}
		c.event(map[string]any{"type": "approval", "id": q.Call.ID, "tool": q.Call.Name, "rule": q.Rule, "answer": verdict, "nobody": errors.Is(err, agent.ErrNobody), "reason": answer.Reason})
	}
	return answer, err
}

// event writes one line of jsonl.
func (c *callbacks) event(e map[string]any) {
	if err := WriteLine(c.runner.Out, e); err != nil && c.failed == nil {
		c.failed = err
		c.runner.Stopped(err)
	}
}

// OnText implements agent.Callbacks.
func (c *callbacks) OnText(text string) {
	switch c.runner.Format {
	case Text:
		c.Screen.OnText(text)
	case JSONL:
		c.event(map[string]any{"type": "text", "text": text})
	}
}

// OnReasoning implements agent.Callbacks.
func (c *callbacks) OnReasoning(text string) {
	c.Screen.OnReasoning(text)
	if c.runner.Format == JSONL {
		c.event(map[string]any{"type": "reasoning", "text": text})
	}
}

// OnToolCall implements agent.Callbacks.
func (c *callbacks) OnToolCall(call agent.Call) {
	c.Screen.OnToolCall(call)
	if c.runner.Format == JSONL {
		c.event(map[string]any{"type": "tool_call", "id": call.ID, "tool": call.Name, "input": call.Input, "index": call.Index, "of": call.Of})
	}
}

// OnToolOutput implements agent.Callbacks.
func (c *callbacks) OnToolOutput(call agent.Call, chunk string) {
	c.Screen.OnToolOutput(call, chunk)
	if c.runner.Format == JSONL {
		c.event(map[string]any{"type": "tool_output", "id": call.ID, "text": chunk})
	}
}

// OnToolResult implements agent.Callbacks.
func (c *callbacks) OnToolResult(call agent.Call, result agent.CallResult) {
	c.Screen.OnToolResult(call, result)
	if c.runner.Format == JSONL {
		c.event(map[string]any{"type": "tool_result", "id": call.ID, "tool": call.Name, "status": result.Status, "text": result.Text, "seconds": result.Duration, "file": result.File})
	}
}

// OnNotice implements agent.Callbacks.
func (c *callbacks) OnNotice(n agent.Notice) {
	c.Screen.OnNotice(n)
	if c.runner.Format != JSONL {
		return
	}
	if n.Retry != nil {
		c.event(map[string]any{"type": "retry", "try": n.Retry.Try, "tries": n.Retry.Tries, "wait_ms": n.Retry.Wait.Milliseconds(), "discard": n.Retry.Discard, "text": n.Text})
		return
	}
	if n.Kind == agent.NoticeUsage {
		c.event(map[string]any{"type": "usage", "request": n.Request})
		return
	}
	c.event(map[string]any{"type": "notice", "kind": n.Kind, "text": n.Text})
}

// ShellQuote quotes a word for a POSIX shell.
func ShellQuote(s string) string {
	quoted := []byte{'\''}
	for i := 0; i < len(s); i++ {
		if s[i] == '\'' {
			quoted = append(quoted, `'\''`...)
			continue
		}
		quoted = append(quoted, s[i])
	}
	return string(append(quoted, '\''))
}
