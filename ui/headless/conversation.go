package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/text"
	"artoo/ui/result"
)

// Host serves a conversation with a program, beside the agent. The goroutine of Run calls it, between turns.
type Host interface {
	// Attach reads the files of a message. The error names one that cannot come along.
	Attach(ctx context.Context, paths []string) ([]provider.Part, error)
	// Command carries out a line that begins with a slash. output is text for people. response is
	// nil where nothing was sent to a model. The error is of a line that could not be carried out,
	// or how its turn failed.
	Command(ctx context.Context, line string, talk Talk) (output string, response *agent.Response, err error)
	// Info is that of the session, the model and the provider as they are now.
	Info() result.Info
}

// Talk has the callbacks of a program's turn and the source of messages that join it. Steering is that of agent.Message.
type Talk struct {
	agent.Callbacks
	Steering func() []agent.Message
}

// Conversation runs the messages that a program writes on its input, one JSON object a line, and
// reports in events. Its Runner has the format JSONL and no Agent; its Ask answers once the input
// has ended.
type Conversation struct {
	Runner
	Agent    Turner
	Host     Host
	mu       sync.Mutex
	wake     chan struct{} // has one when the queue, the answers or the input changed
	queue    []*task       // the first one runs
	ended    bool          // no more comes
	faulty   bool          // a line was not understood
	messages int           // they are numbered
	waiting  string        // the id of the question that waits, "" for none
	answers  []lineAnswer
	asked    map[string]bool // ids of questions, also of those that are over
	lost     func(error)     // ends the run, since the output cannot be written
}

// Turner runs a turn; *agent.Agent is one.
type Turner interface {
	Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error)
}

// task is a line that waits for its turn.
type task struct {
	line    int
	id      string
	user    *userInput
	now     bool // it reaches the model at the next step of the turn that runs
	set     *setInput
	command string
	joined  []string // messages that the turn took along
	ctx     context.Context
	cancel  context.CancelCauseFunc
}

type lineAnswer struct {
	agent.AnswerEvent
	line int
}

// errInterrupted ends a turn that the program interrupted.
var errInterrupted = errors.New("interrupted")

// shared lets the reader and the turn write lines to one stream.
type shared struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Run carries out the lines of in until it has ended and all of them are done. It returns the sum
// of all turns, and the failure that decides the exit code, as Runner.Run does. After a signal,
// or when the output was lost, the goroutine that reads lives until the end of the process.
func (c *Conversation) Run(ctx context.Context, in io.Reader) (*agent.Response, *agent.Failure) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	c.wake, c.asked, c.Out = make(chan struct{}, 1), map[string]bool{}, &shared{w: c.Out}
	c.lost = func(err error) { stop(outputFailure(err)) }
	cb := c.callbacks(stop)
	last := c.Ask
	c.Ask, c.AnyKind = func(ctx context.Context, q agent.Question) (agent.Answer, error) { return c.put(ctx, cb, last, q) }, true
	cb.begin(c.Info)
	cb.event(bareEvent{"ready"})
	go c.read(ctx, in)
	sum, failed := &agent.Response{CostUSD: new(float64)}, (*agent.Failure)(nil)
	for ready := true; ctx.Err() == nil; {
		t, over := c.head()
		switch {
		case t != nil:
			ready = false
			if failure := c.do(t, cb, sum); failure != nil {
				failed = failure
			}
			continue
		case over:
		case !ready:
			ready = true
			cb.event(bareEvent{"ready"})
			continue
		default:
			c.wait(ctx)
			continue
		}
		break
	}
	c.Screen.Finish()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case context.Cause(ctx) != nil:
		failed = agent.Classify(context.Cause(ctx))
	case failed == nil:
		failed = unanswered(sum.Denied)
	}
	if failed == nil && c.faulty {
		failed = &agent.Failure{Kind: agent.KindUsage, What: "input", Err: errors.New("not all lines were understood"),
			Hint: "see the input_error events"}
	}
	return sum, failed
}

// wait waits for a line, or for ctx.
func (c *Conversation) wait(ctx context.Context) {
	select {
	case <-c.wake:
	case <-ctx.Done():
	}
}

// changed wakes the goroutine that waits.
func (c *Conversation) changed() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// emit writes an event beside those of a turn.
func (c *Conversation) emit(e any) {
	if err := WriteLine(c.Out, e); err != nil {
		c.lost(err)
	}
}

// fault reports a line of which nothing came.
func (c *Conversation) fault(number int, err error) {
	c.mu.Lock()
	c.faulty = true
	c.mu.Unlock()
	c.emit(inputErrorEvent{"input_error", number, err.Error()})
}

// enqueue queues a task.
func (c *Conversation) enqueue(ctx context.Context, t *task) {
	t.ctx, t.cancel = context.WithCancelCause(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.set == nil {
		c.messages++
		if t.id == "" {
			t.id = "m" + strconv.Itoa(c.messages)
		}
		c.emit(acceptedEvent{"accepted", t.id})
	}
	c.queue = append(c.queue, t)
	c.changed()
}

// close ends the input.
func (c *Conversation) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.changed()
}

// head is the task that is next, nil for none; over reports that none will come.
func (c *Conversation) head() (t *task, over bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		return c.queue[0], false
	}
	return nil, c.ended
}

// interrupt ends the task that is done now, if there is one.
func (c *Conversation) interrupt() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) > 0 {
		c.queue[0].cancel(errInterrupted)
	}
}

// do does the first task and takes it from the queue. The failure counts for the exit code.
func (c *Conversation) do(t *task, cb *callbacks, sum *agent.Response) *agent.Failure {
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.queue = c.queue[1:]
		t.cancel(nil)
	}()
	var response *agent.Response
	var err error
	talk := Talk{cb, func() []agent.Message { return c.steering(t) }}
	switch {
	case t.ctx.Err() != nil:
		err = context.Cause(t.ctx)
	case t.set != nil:
		err = c.set(t, cb)
	case t.command != "":
		var output string
		output, response, err = c.Host.Command(t.ctx, t.command, talk)
		if output != "" {
			cb.event(noticeEvent{"notice", "command", output})
		}
	default:
		var parts []provider.Part
		if parts, err = c.Host.Attach(t.ctx, t.user.Attach); err == nil {
			m := agent.Message{Text: t.user.Text, Attachments: parts, Steering: talk.Steering}
			response, err = c.Agent.Send(t.ctx, m, cb)
		}
	}
	c.Screen.Finish()
	if now := c.Host.Info(); now.SessionID != c.Info.SessionID || now.Provider != c.Info.Provider || now.Model != c.Info.Model || now.Mode != c.Info.Mode {
		c.Info = now
		cb.begin(now)
	}
	interrupted := errors.Is(context.Cause(t.ctx), errInterrupted)
	if err != nil && response == nil && t.ctx.Err() == nil {
		c.fault(t.line, err)
		err = &agent.Failure{Kind: agent.KindUsage, Err: err}
	}
	if t.set != nil {
		return nil
	}
	end := turnEndEvent{Type: "turn_end", ID: t.id, Joined: t.joined, Result: c.Info.Answer(response)}
	if response != nil {
		end.StopReason, end.Turns, end.Usage, end.CostUSD = string(response.Stop), response.Steps, response.Usage, response.CostUSD
		end.Provider, end.Model = response.Provider, response.Model
		add(sum, response)
	}
	failure := agent.Classify(err)
	if failure != nil {
		end.Error = &result.Error{Kind: string(failure.Kind), Message: failure.Error(), Hint: failure.Hint}
	}
	switch {
	case interrupted:
		end.Error = &result.Error{Kind: "interrupted", Message: errInterrupted.Error()}
	case errors.Is(err, agent.ErrStopped):
		end.Error.Kind, end.Error.Hint = "stopped", ""
	case response != nil:
		cb.event(end)
		return failure
	}
	cb.event(end)
	return nil
}

// set changes model, effort and, once these hold, mode, by the commands that do so in a conversation.
func (c *Conversation) set(t *task, cb *callbacks) error {
	for _, line := range [][2]string{{"/model ", t.set.Model}, {"/effort ", t.set.Effort}, {"/approval ", t.set.Mode}} {
		if line[1] == "" {
			continue
		}
		output, _, err := c.Host.Command(t.ctx, line[0]+line[1], Talk{Callbacks: cb})
		if err != nil {
			return err
		}
		cb.event(noticeEvent{"notice", "command", output})
	}
	return nil
}

// steering gives the messages that wait to reach the model now.
func (c *Conversation) steering(t *task) (messages []agent.Message) {
	c.mu.Lock()
	var taken []*task
	rest := slices.DeleteFunc(slices.Clone(c.queue), func(other *task) bool {
		now := other != t && other.now
		if now {
			taken = append(taken, other)
		}
		return now
	})
	c.queue = rest
	c.mu.Unlock()
	for _, other := range taken {
		t.joined = append(t.joined, other.id)
		other.cancel(nil)
		parts, err := c.Host.Attach(t.ctx, other.user.Attach)
		if err != nil {
			c.fault(other.line, err)
			continue
		}
		messages = append(messages, agent.Message{Text: other.user.Text, Attachments: parts})
	}
	return messages
}

// put puts a question to the program, and where its input has ended to last, which may be nil.
func (c *Conversation) put(ctx context.Context, cb *callbacks, last Asker, q agent.Question) (agent.Answer, error) {
	c.mu.Lock()
	over := c.ended
	c.asked[q.ID], c.waiting, c.answers = true, q.ID, nil
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.waiting = ""
	}()
	if !over {
		cb.event(q.Event())
	}
	for {
		c.mu.Lock()
		answers := c.answers
		over, c.answers = c.ended, nil
		c.mu.Unlock()
		for _, given := range answers {
			answer, err := q.Read(given.AnswerEvent)
			if err == nil {
				return answer, nil
			}
			c.fault(given.line, err)
		}
		switch {
		case ctx.Err() != nil:
			return agent.Answer{}, context.Cause(ctx)
		case over && last == nil:
			return agent.Answer{}, agent.ErrNobody
		case over:
			return last(ctx, q)
		}
		c.wait(ctx)
	}
}

// answer takes an answer for the question that waits. One that comes too late counts for nothing.
func (c *Conversation) answer(a agent.AnswerEvent, number int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case a.ID == c.waiting && a.ID != "":
		c.answers = append(c.answers, lineAnswer{a, number})
		c.changed()
	case !c.asked[a.ID]:
		return fmt.Errorf("no question %q was asked", text.Clip(a.ID, 40))
	}
	return nil
}

// add adds a turn to the sum of all turns.
func add(sum, r *agent.Response) {
	cost := sum.CostUSD
	switch {
	case r.CostUSD == nil && len(r.Requests) > 0:
		cost = nil
	case cost != nil && r.CostUSD != nil:
		cost = new(*cost + *r.CostUSD)
	}
	*sum = agent.Response{Text: r.Text, JSON: r.JSON, Stop: r.Stop, Detail: r.Detail, Steps: sum.Steps + r.Steps, Usage: sum.Usage.Add(r.Usage), CostUSD: cost,
		Requests: append(sum.Requests, r.Requests...), Denied: append(sum.Denied, r.Denied...),
		Reach: sum.Reach.And(r.Reach), Answered: append(sum.Answered, r.Answered...), Background: append(sum.Background, r.Background...), ToolErrors: sum.ToolErrors + r.ToolErrors, Provider: r.Provider, Model: r.Model}
}
