package agent

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Spend counts time that a front end used for the run before the first turn.
func (a *Agent) Spend(elapsed time.Duration) { a.elapsed += elapsed }

// runClock enforces MaxTime over all turns of a run. It stands still while the
// user is asked, if need be by several sub-agents at once.
type runClock struct {
	agent  *Agent
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer // nil without a limit
	since  time.Time
	paused int // so many wait for the user
}

func (a *Agent) startClock(ctx context.Context) (context.Context, *runClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &runClock{agent: a, cancel: cancel, since: time.Now()}
	if a.opt.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(a.opt.Limits.MaxTime-a.elapsed, func() { cancel(c.failure()) })
	}
	return ctx, c
}

func (c *runClock) failure() error {
	return capFailure(fmt.Sprintf("the run's %s are over", c.agent.opt.Limits.MaxTime),
		c.agent.goOn("", "a higher --max-time"))
}

// over is the error of a run whose time is up.
func (c *runClock) over() error {
	if limit := c.agent.opt.Limits.MaxTime; limit > 0 && c.elapsed() >= limit {
		return c.failure()
	}
	return nil
}

// elapsed is the run's time so far.
func (c *runClock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused > 0 {
		return c.agent.elapsed
	}
	return c.agent.elapsed + time.Since(c.since)
}

func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused > 1 {
		return
	}
	c.agent.elapsed += time.Since(c.since)
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
		c.timer.Reset(c.agent.opt.Limits.MaxTime - c.agent.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}
