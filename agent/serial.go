package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"
)

// serial passes callbacks on one at a time and none after the turn, whatever tools that were
// given up still do.
type serial struct {
	mu    sync.Mutex
	cb    Callbacks
	clock *runClock
	// masks is the session whose marks stand in place of keys in calls, questions and artoo's own words; nil masks nothing.
	masks  *session
	closed bool
	thinks bool // between OnThinking and OnThinkingDone
}

// errTurnOver is the answer to a question of a tool that was given up: its turn has ended.
var errTurnOver = errors.New("the turn is over")

func (s *serial) pass(f func(Callbacks)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f(s.cb)
	}
}

// notice reports something to the user.
func (s *serial) notice(kind NoticeKind, text string) { s.OnNotice(Notice{Kind: kind, Text: text}) }

func (s *serial) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *serial) OnReasoning(text string) { s.pass(func(cb Callbacks) { cb.OnReasoning(text) }) }
func (s *serial) OnText(text string)      { s.pass(func(cb Callbacks) { cb.OnText(text) }) }
func (s *serial) OnToolCall(c Call) {
	c = s.masks.shown(c)
	s.pass(func(cb Callbacks) { cb.OnToolCall(c) })
}
func (s *serial) OnNotice(n Notice) {
	n.Text = s.masks.masked(n.Text)
	if n.Answered != nil {
		n.Answered = &Answered{s.masks.shownQuestion(n.Answered.Question), n.Answered.Answer}
	}
	s.pass(func(cb Callbacks) { cb.OnNotice(n) })
}
func (s *serial) OnToolOutput(c Call, chunk string) {
	s.pass(func(cb Callbacks) { cb.OnToolOutput(c, chunk) })
}
func (s *serial) OnToolResult(c Call, r CallResult) {
	c = s.masks.shown(c)
	s.pass(func(cb Callbacks) { cb.OnToolResult(c, r) })
}

// OnThinking and OnThinkingDone come in pairs, however often the second is called.
func (s *serial) OnThinking() { s.pass(func(cb Callbacks) { s.thinks = true; cb.OnThinking() }) }

func (s *serial) OnThinkingDone() {
	s.pass(func(cb Callbacks) {
		if s.thinks {
			s.thinks = false
			cb.OnThinkingDone()
		}
	})
}

// Ask stops the run's clock while the user thinks.
func (s *serial) Ask(ctx context.Context, q Question) (Answer, error) {
	s.clock.pause()
	defer s.clock.resume()
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause := context.Cause(ctx); cause != nil { // while another question stood there
		return Answer{}, cause
	}
	if s.closed {
		return Answer{}, errTurnOver
	}
	if q.ID == "" {
		q.ID = s.clock.session.questionID()
	}
	answer, err := s.cb.Ask(ctx, s.masks.shownQuestion(q))
	answer.Input = s.masks.unmasked(answer.Input, q.Call.Input)
	return answer, err
}

// liveOutput passes a running call's output on until the call was given up.
type liveOutput struct {
	call Call
	cb   *serial

	mu     sync.Mutex
	text   heldText
	closed bool
}

// Write implements io.Writer. It never fails.
func (o *liveOutput) Write(chunk []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.show(o.text.add(chunk))
	}
	return len(chunk), nil
}

func (o *liveOutput) show(text string) {
	if text != "" {
		o.cb.OnToolOutput(o.call, text)
	}
}

func (o *liveOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rest := o.text.rest(); !o.closed && utf8.ValidString(rest) {
		o.show(rest)
	}
	o.closed = true
}

// runClock enforces MaxTime over all turns of a run. It stands still while anyone waits for the user.
type runClock struct {
	session *session
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer // nil without a limit
	since  time.Time
	paused int // so many wait for the user
}

func (s *session) startClock(ctx context.Context) (context.Context, *runClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &runClock{session: s, cancel: cancel, since: time.Now()}
	if s.opt.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(s.opt.Limits.MaxTime-s.elapsed, func() { cancel(c.failure()) })
	}
	return ctx, c
}

func (c *runClock) failure() error {
	return capFailure(fmt.Sprintf("the run's %s are over", c.session.opt.Limits.MaxTime),
		c.session.goOn("", "a higher --max-time"))
}

func (c *runClock) over() error {
	if limit := c.session.opt.Limits.MaxTime; limit > 0 && c.elapsed() >= limit {
		return c.failure()
	}
	return nil
}

func (c *runClock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused > 0 {
		return c.session.elapsed
	}
	return c.session.elapsed + time.Since(c.since)
}

func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused > 1 {
		return
	}
	c.session.elapsed += time.Since(c.since)
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *runClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused > 0 {
		return
	}
	c.since = time.Now()
	if c.timer != nil {
		c.timer.Reset(c.session.opt.Limits.MaxTime - c.session.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}
