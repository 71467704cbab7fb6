package agent

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// runClock enforces MaxTime over all turns of a run. It stands still while the
// user is asked.
type runClock struct {
	agent  *Agent
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer // nil without a limit
	since  time.Time
	paused bool
}

func (a *Agent) startClock(ctx context.Context) (context.Context, *runClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &runClock{agent: a, cancel: cancel, since: time.Now()}
	if a.opt.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(a.opt.Limits.MaxTime-a.spent.elapsed, func() { cancel(c.failure()) })
	}
	return ctx, c
}

func (c *runClock) failure() error {
	return capFailure(fmt.Sprintf("the run's %s are over", c.agent.opt.Limits.MaxTime), "a higher --max-time")
}

// over is the error of a run whose time is up.
func (c *runClock) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit := c.agent.opt.Limits.MaxTime; limit > 0 && c.agent.spent.elapsed+time.Since(c.since) >= limit {
		return c.failure()
	}
	return nil
}

func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent.spent.elapsed += time.Since(c.since)
	c.paused = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *runClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = time.Now()
	c.paused = false
	if c.timer != nil {
		c.timer.Reset(c.agent.opt.Limits.MaxTime - c.agent.spent.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}
