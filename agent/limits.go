package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Limits are hard caps. A zero field means no cap.
type Limits struct {
	MaxTurns       int           // model requests per turn
	MaxCost        float64       // US dollars per run, retries included
	MaxTotalTokens int           // tokens per run, retries included
	MaxTime        time.Duration // per run, without waiting for the user
	// DailyCost is US dollars per local day, over all runs that share Options.Ledger.
	DailyCost float64
}

func capFailure(why, hint string) error {
	return &Failure{Kind: KindCap, Err: errors.New(why), Hint: hint}
}

func (s *session) goOn(when, hint string) string {
	if s.sessionID == "" {
		return hint
	}
	return `artoo -c "go on"` + when + ", or " + hint
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
