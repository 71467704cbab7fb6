package headless

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/text"
	"artoo/ui/result"
	"artoo/ui/screen"
)

// Sender is the agent.
type Sender interface {
	SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error)
}

// Asker puts a question to the user, as agent.Callbacks' Ask does.
type Asker func(ctx context.Context, q agent.Question) (agent.Answer, error)

// Runner runs one message. All fields but Ask, AnyKind and Stopped are needed.
type Runner struct {
	Agent  Sender
	Format Format
	Out    io.Writer      // stdout
	Screen *screen.Screen // progress on stderr; in text format it also writes the answer
	Ask    Asker          // nil: no one can answer
	// AnyKind lets Ask answer all kinds of questions, and not only whether something may be done.
	AnyKind bool
	Info    result.Info // With Schema, text format writes the answer's JSON, and the screen must not write to stdout.
	// Stopped is called, on Run's goroutine or one of the agent's, when stdout
	// cannot be written. The run is being ended then. It may be called twice.
	Stopped func(error)
}

// Run sends the message with its attachments. It returns the response and the failure that decides
// the exit code: nil, the error of the turn, that of writing to stdout, or that of a call that was
// refused because no one could answer. The answer is on stdout when it returns;
// the result object is not, see result.New.
func (r *Runner) Run(ctx context.Context, text string, attachments ...provider.Part) (*agent.Response, *agent.Failure) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cb := r.callbacks(stop)
	cb.begin(r.Info)
	if cb.failed != nil {
		return &agent.Response{}, outputFailure(cb.failed)
	}
	response, err := r.Agent.SendMessage(ctx, text, cb, attachments...)
	r.Screen.Finish()
	if r.Format == Text && response.JSON != nil {
		cb.broken(WriteLine(r.Out, response.JSON))
	}
	cb.checkScreen()
	var signal *SignalError
	if err != nil && errors.As(context.Cause(ctx), &signal) {
		err = signal // not the errors that it caused
	}
	failure := agent.Classify(err)
	switch {
	case cb.failed != nil && failure == nil:
		failure = outputFailure(cb.failed)
	case failure == nil:
		failure = unanswered(response.Denied)
	}
	return response, failure
}

func (r *Runner) callbacks(stop context.CancelCauseFunc) *callbacks {
	return &callbacks{Screen: r.Screen, runner: r, stop: stop, output: map[string]int{}}
}

// begin writes the event with the session, its provider and its model.
func (c *callbacks) begin(i result.Info) {
	c.event(sessionEvent{"session", 1, i.SessionID, i.Provider, i.Model, cmp.Or(i.Sandbox, "none"), i.Mode, i.Unconfined})
}

func outputFailure(err error) *agent.Failure {
	return &agent.Failure{Kind: agent.KindInternal, What: "stdout", Err: err,
		Hint: "check where stdout goes: a full disk, or a reader that left"}
}

// noRule is the way where no rule would help.
const noRule = "run it yourself, or start artoo without -p and answer its question"

// mostHints is how many ways a hint names.
const mostHints = 3

// hint names a way to allow each refused call: its narrowest rule, if there is one that a
// line of text can hold.
func hint(denied ...agent.Denial) string {
	var rules, ways []string
	more := map[string]bool{} // They are only counted.
	for _, d := range denied {
		list, way := &ways, noRule
		switch {
		case d.Code == permission.OwnPrograms:
			way = "artoo trust --run --yes"
		case d.Code == permission.RuleAsks, d.Code == permission.RuleMayDeny, d.Code == permission.HookAsks, d.Rule == "":
		case !strings.ContainsFunc(d.Rule, func(r rune) bool { return !unicode.IsPrint(r) }):
			flag, rule := "--allow", d.Rule
			if hosts, ok := permission.ListedBy(rule); ok {
				flag, rule = "--hosts", hosts
			}
			list, way = &rules, " "+flag+" '"+strings.ReplaceAll(rule, "'", `'\''`)+"'"
		}
		switch {
		case slices.Contains(*list, way):
		case len(rules)+len(ways) < mostHints:
			*list = append(*list, way)
		default:
			more[way] = true
		}
	}
	if len(rules) > 0 {
		ways = append(ways, "artoo"+strings.Join(rules, ""))
	}
	if len(more) > 0 {
		ways = append(ways, fmt.Sprintf("and %d more", len(more)))
	}
	return strings.Join(ways, "; ")
}

// unanswered is the failure of a run in which somebody was missed.
func unanswered(denied []agent.Denial) *agent.Failure {
	denied = slices.DeleteFunc(slices.Clone(denied), func(d agent.Denial) bool { return !d.Nobody })
	what := "a call was"
	switch n := len(denied); {
	case n == 0:
		return nil
	case n > 1:
		what = fmt.Sprintf("%d calls were", n)
	}
	return &agent.Failure{Kind: agent.KindApproval, Err: fmt.Errorf("%s refused: %w", what, agent.ErrNobody), Hint: hint(denied...)}
}

// callbacks shows progress through the screen, writes events in jsonl, and
// answers questions.
type callbacks struct {
	*screen.Screen
	runner *Runner
	stop   context.CancelCauseFunc
	failed error          // the first write to stdout that did not go through
	pieces int            // text and reasoning events of the running try
	stale  int            // those of failed tries, void as soon as another one says something
	output map[string]int // bytes of output events, by running call
	inputs []*input       // calls that the model is writing now
}

// input is the last event of a call that is being written.
type input struct {
	inputEvent
	reported time.Time // when the last one was written
	waiting  bool      // this one was not
}

// inputPause is the least time between two events of a call that is being written.
const inputPause = 250 * time.Millisecond

// maxOutput is how much of a call's output is reported while it runs, in bytes.
const maxOutput = 30 << 10

// Ask asks the runner's Asker, or notes the rule that would have allowed the call.
func (c *callbacks) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	decides := slices.Contains([]agent.QuestionKind{agent.QuestionApproval, agent.QuestionChanges}, q.Kind)
	again := slices.Contains([]agent.QuestionKind{agent.QuestionOutside, agent.QuestionWhole}, q.Kind)
	asks := c.runner.Ask != nil && (c.runner.AnyKind || decides || again)
	if !asks && !decides {
		return agent.Answer{}, agent.ErrNobody // a run without a conversation goes on, or ends, without
	}
	answer, err := agent.Answer{}, agent.ErrNobody
	if asks {
		answer, err = c.runner.Ask(ctx, q)
	}
	nobody := errors.Is(err, agent.ErrNobody)
	if nobody && !decides && !again {
		return answer, err
	}
	if nobody {
		word, denied := "denied: ", agent.Denial{Rule: q.Rule}
		switch {
		case q.Effects != nil && q.Effects.There:
			word = "moved away after "
		case q.Effects != nil:
			word = "discarded: "
		case q.OwnPrograms():
			denied.Code = permission.OwnPrograms
		case len(q.Reasons) > 0:
			denied.Code = q.Reasons[0].Code
		}
		what := word + strings.TrimPrefix(q.Call.Agent+": ", ": ") + q.Call.Access.Verb + " " + text.Head(q.Call.Access.Object)
		why := err
		if q.Reason != "" {
			why = fmt.Errorf("%s; %w", q.Reason, err)
		}
		c.Failure(&agent.Failure{Kind: agent.KindApproval, What: what, Err: why, Hint: hint(denied)})
	}
	c.decided(q, answer, err)
	return answer, err
}

// decided reports the answer to a question, or that no one could give one.
func (c *callbacks) decided(q agent.Question, a agent.Answer, err error) {
	d := q.Decision(a, err)
	c.event(approvalEvent{"approval", q.ID, d.Call, d.Tool, d.Object, d.Answer, errors.Is(err, agent.ErrNobody), d.Reason, d.Narrow,
		d.Agent, d.By, d.From, d.Shown})
}

// event writes one line of jsonl, after those that wait.
func (c *callbacks) event(e any) {
	if c.runner.Format != JSONL {
		return
	}
	inputs := c.inputs
	c.inputs = nil
	for _, in := range inputs {
		if in.waiting {
			c.line(in.inputEvent)
		}
	}
	c.line(e)
}

func (c *callbacks) line(e any) {
	if c.failed == nil {
		c.broken(WriteLine(c.runner.Out, e))
	}
}

// broken ends the run after the first write to stdout that failed: an answer
// that no one reads is not worth its tokens.
func (c *callbacks) broken(err error) {
	if err == nil || c.failed != nil {
		return
	}
	c.failed = err
	if c.runner.Stopped != nil {
		c.runner.Stopped(err)
	}
	c.stop(outputFailure(err))
}

// checkScreen looks whether the screen could write the answer.
func (c *callbacks) checkScreen() {
	if c.runner.Format == Text {
		c.broken(c.Err())
	}
}

func (c *callbacks) OnThinking() {
	c.Screen.OnThinking()
	c.pieces = 0
}

func (c *callbacks) OnText(text string) {
	if c.runner.Format == Text {
		c.Screen.OnText(text)
		c.checkScreen()
	}
	c.pieces++
	c.stale = 0
	c.event(textEvent{"text", text})
}

func (c *callbacks) OnReasoning(text string) {
	c.Screen.OnReasoning(text)
	c.pieces++
	c.event(textEvent{"reasoning", text})
}

// input writes how much has come of a call, from time to time.
func (c *callbacks) input(in agent.ToolInput) {
	i := slices.IndexFunc(c.inputs, func(known *input) bool { return known.Parent == in.Parent && known.Index == in.Index })
	if i < 0 {
		i = len(c.inputs)
		c.inputs = append(c.inputs, &input{})
	}
	now, call := time.Now(), c.inputs[i]
	call.inputEvent = inputEvent{"tool_input", in.Tool, in.Index, in.Bytes, in.Agent, in.Parent}
	if call.waiting = now.Sub(call.reported) < inputPause; !call.waiting {
		call.reported = now
		c.line(call.inputEvent)
	}
}

func (c *callbacks) OnToolCall(call agent.Call) {
	c.Screen.OnToolCall(call)
	c.event(callEvent{"tool_call", call.ID, call.Name, inputOf(call), call.Access.Object, call.Index, call.Of,
		call.Agent, call.Parent})
}

func (c *callbacks) OnToolOutput(call agent.Call, chunk string) {
	c.Screen.OnToolOutput(call, chunk)
	room := maxOutput - c.output[call.ID]
	if c.runner.Format != JSONL || room <= 0 {
		return
	}
	c.output[call.ID] += len(chunk)
	if len(chunk) > room {
		chunk = strings.ToValidUTF8(chunk[:room], "") + "\n[… the rest is not shown]\n"
	}
	c.event(outputEvent{"tool_output", call.ID, chunk, call.Agent})
}

func (c *callbacks) OnToolResult(call agent.Call, result agent.CallResult) {
	c.Screen.OnToolResult(call, result)
	delete(c.output, call.ID)
	c.event(callResultEvent{"tool_result", call.ID, call.Name, result.Status, result.Text, result.File,
		int64(result.Duration * 1000), call.Agent})
}

func (c *callbacks) OnNotice(n agent.Notice) {
	c.Screen.OnNotice(n)
	switch {
	case c.runner.Format != JSONL:
	case n.Answered != nil:
		c.decided(n.Answered.Question, n.Answered.Answer, nil)
	case n.Retry != nil:
		e := retryEvent{Type: "retry", Try: n.Retry.Try, Tries: n.Retry.Tries, WaitMS: n.Retry.Wait.Milliseconds(),
			Reason: n.Text}
		if n.Retry.Discard || c.stale > 0 {
			c.stale += c.pieces
			e.Discard = c.stale
		}
		c.event(e)
		if n.Kind == agent.NoticeModel { // Another model makes the next try.
			c.event(noticeEvent{"notice", n.Kind, n.Text})
		}
	case n.Kind == agent.NoticeInput:
		c.input(*n.Input)
	case n.Kind == agent.NoticeUsage:
		c.stale = 0
		if n.Request != nil {
			c.event(usageEvent{"usage", *n.Request, n.Request.Quota})
		}
	default:
		c.event(noticeEvent{"notice", n.Kind, n.Text})
	}
}

// inputOf is a call's input as JSON; null when the model wrote no valid input.
func inputOf(call agent.Call) json.RawMessage {
	if call.Raw != "" || !json.Valid(call.Input) {
		return json.RawMessage("null")
	}
	return call.Input
}
