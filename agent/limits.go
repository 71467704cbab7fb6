package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"artoo/provider"
)

// Limits are hard caps. A zero field means no cap.
type Limits struct {
	MaxTurns       int           // model requests per turn
	MaxCost        float64       // US dollars per run, retries included
	MaxTotalTokens int           // tokens per run, retries included
	MaxTime        time.Duration // per run, without waiting for the user
}

// Spent is the run's usage and cost; the cost is nil when a price is unknown.
func (a *Agent) Spent() (provider.Usage, *float64) {
	return a.spent.sum()
}

// Left is what the caps leave of money, in US dollars, and of tokens; 0 where
// there is no cap. It is for a provider that can keep them within a request, and
// to be called by it only.
func (a *Agent) Left() (money float64, tokens int) {
	if l := a.opt.Limits; l.MaxCost > 0 {
		money = max(l.MaxCost-a.spent.money(a), 1e-6)
	}
	if l := a.opt.Limits; l.MaxTotalTokens > 0 {
		tokens = max(l.MaxTotalTokens-a.spent.tokens(a), 1)
	}
	return money, tokens
}

// checkLimits is asked before every request. left is how many tokens the reply
// may have under the caps, 0 for no bound.
func (t *turn) checkLimits() (left int, err error) {
	t.warnNear()
	if err := t.clock.over(); err != nil {
		return 0, err // at once: the timer ends a request, it does not forbid one
	}
	return t.tokensLeft()
}

// tokensLeft is how many tokens a reply may have under the caps of tokens and
// money, 0 for no bound. It is asked before every try.
func (t *turn) tokensLeft() (left int, err error) {
	l, estimate := t.opt.Limits, t.conv.EstimatedTokens()
	if l.MaxTotalTokens > 0 {
		left = l.MaxTotalTokens - t.spent.tokens(t.Agent) - t.losing.Total()
		if left <= estimate {
			return 0, capFailure(fmt.Sprintf("the next request needs about %s of the %d left",
				count(estimate, "token"), max(left, 0)), "a higher ARTOO_MAX_TOTAL_TOKENS")
		}
		left -= estimate
	}
	if l.MaxCost > 0 {
		afford, err := t.affordable(estimate)
		if err != nil {
			return 0, err
		}
		left = tightest(left, afford)
	}
	return left, nil
}

// affordable is how long a reply the rest of the money buys. What the provider
// is believed to have cached is counted at the price of reading it. It is 0, no
// bound, where only the bill will tell.
func (t *turn) affordable(estimate int) (int, error) {
	price, spent := t.model.Info.Price, t.spentMoney()
	if price == nil && t.model.Info.Billed {
		if spent >= t.opt.Limits.MaxCost {
			return 0, capFailure(fmt.Sprintf("$%.4f of $%.2f spent", spent, t.opt.Limits.MaxCost), "a higher --max-cost")
		}
		return 0, nil
	}
	if price == nil {
		name, model := t.model.Name, t.model.Defaults.Model
		return 0, &Failure{Kind: KindUsage, What: "--max-cost",
			Err: fmt.Errorf("the price of %s is not known, so it cannot be capped", model),
			Hint: fmt.Sprintf("set price = { input = …, output = … } under [provider.%s.models.%q] in config.toml",
				name, model)}
	}
	left := t.opt.Limits.MaxCost - spent
	cached, read := min(t.cached, estimate), price.CacheRead
	if read == 0 { // not known: the bill counts it as input
		read = price.Input
	}
	prompt := (float64(cached)*read + float64(estimate-cached)*max(price.Input, price.CacheWrite)) / 1e6
	if left <= prompt {
		return 0, capFailure(fmt.Sprintf("$%.4f of $%.2f spent, the next request costs about $%.4f before its reply",
			spent, t.opt.Limits.MaxCost, prompt), "a higher --max-cost")
	}
	if price.Output <= 0 {
		return 1 << 30, nil
	}
	return max(1, int((left-prompt)*1e6/price.Output)), nil
}

// spentMoney is what the run has spent, the failed tries of the request that is
// under way included.
func (t *turn) spentMoney() float64 {
	spent := t.spent.money(t.Agent)
	if lost := provider.Cost(t.losing, t.model.Info.Price); lost != nil {
		spent += *lost
	}
	return spent
}

// warnNear tells once per cap when four fifths of it are used.
func (t *turn) warnNear() {
	const near = 0.8
	warn := func(name string, used, limit float64, text string) {
		if limit > 0 && used >= near*limit && t.spent.warns(name) {
			t.notice(NoticeCap, text)
		}
	}
	l := t.opt.Limits
	usage, cost := t.spent.known()
	warn("cost", cost, l.MaxCost, fmt.Sprintf("$%.2f of the run's $%.2f are spent", cost, l.MaxCost))
	warn("tokens", float64(usage.Total()), float64(l.MaxTotalTokens),
		fmt.Sprintf("%d of the run's %d tokens are used", usage.Total(), l.MaxTotalTokens))
	steps, used := l.MaxTurns+t.moreSteps, int(t.steps.Load())
	if !t.warned && l.MaxTurns > 4 && float64(used) >= near*float64(steps) {
		t.warned = true
		t.notice(NoticeCap, fmt.Sprintf("%d of this turn's %d steps are used", used, steps))
	}
}

func capFailure(why, hint string) error {
	return &Failure{Kind: KindCap, Err: errors.New(why), Hint: hint}
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, strings.TrimSuffix(unit, "s"))
}

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
	return capFailure(fmt.Sprintf("the run's %s are over", c.agent.opt.Limits.MaxTime), "a higher --max-time")
}

// over is the error of a run whose time is up.
func (c *runClock) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit := c.agent.opt.Limits.MaxTime; limit > 0 && c.agent.elapsed+time.Since(c.since) >= limit {
		return c.failure()
	}
	return nil
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
