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
	MaxTime        time.Duration // per run, without waiting for the person
}

// spending is what a run has used up so far.
type spending struct {
	usage   provider.Usage
	cost    float64
	unknown bool // some request's price is unknown
	cached  int  // tokens the provider's cache is believed to hold
	elapsed time.Duration
	warned  map[string]bool
}

// Spend counts time that a front end used for the run before the first turn.
func (a *Agent) Spend(elapsed time.Duration) { a.spent.elapsed += elapsed }

// Spent is the run's usage and cost; the cost is nil when a price is unknown.
func (a *Agent) Spent() (provider.Usage, *float64) {
	if a.spent.unknown {
		return a.spent.usage, nil
	}
	cost := a.spent.cost
	return a.spent.usage, &cost
}

// Left is what the caps leave of money, in US dollars, and of tokens; 0 where
// there is no cap. It is for a provider that can keep them within a request, and
// to be called by it only.
func (a *Agent) Left() (money float64, tokens int) {
	if l := a.Limits; l.MaxCost > 0 {
		money = max(l.MaxCost-a.spent.cost, 1e-6)
	}
	if l := a.Limits; l.MaxTotalTokens > 0 {
		tokens = max(l.MaxTotalTokens-a.spent.usage.Total(), 1)
	}
	return money, tokens
}

// checkLimits is asked before every request. room is how many tokens the reply
// may have under the caps, 0 for no bound.
func (t *turn) checkLimits() (room int, err error) {
	l, estimate := t.Limits, t.Conversation.EstimatedTokens()
	t.warnNear()
	if err := t.clock.over(); err != nil {
		return 0, err // at once: the timer ends a request, it does not forbid one
	}
	if l.MaxTurns > 0 && t.response.Steps >= l.MaxTurns {
		return 0, capFailure(fmt.Sprintf("%d steps in this turn", l.MaxTurns), "--max-turns with a higher number, or send another message to go on")
	}
	if l.MaxTotalTokens > 0 {
		left := l.MaxTotalTokens - t.spent.usage.Total()
		if left <= estimate {
			return 0, capFailure(fmt.Sprintf("the next request needs about %s of the %d left", count(estimate, "token"), max(left, 0)), "a higher ARTOO_MAX_TOTAL_TOKENS")
		}
		room = left - estimate
	}
	if l.MaxCost > 0 {
		afford, err := t.affordable(estimate)
		if err != nil {
			return 0, err
		}
		if room == 0 || afford > 0 && afford < room {
			room = afford
		}
	}
	return room, nil
}

// affordable is how long a reply the rest of the money buys. What the provider
// is believed to have cached is counted at the price of reading it. It is 0, no
// bound, where only the bill will tell.
func (t *turn) affordable(estimate int) (int, error) {
	price := t.Info.Price
	if price == nil && t.Info.Billed {
		if t.spent.cost >= t.Limits.MaxCost {
			return 0, capFailure(fmt.Sprintf("$%.4f of $%.2f spent", t.spent.cost, t.Limits.MaxCost), "a higher --max-cost")
		}
		return 0, nil
	}
	if price == nil {
		return 0, &Failure{Kind: KindUsage, What: "--max-cost", Err: fmt.Errorf("the price of %s is not known, so it cannot be capped", t.Defaults.Model),
			Hint: fmt.Sprintf("set price = { input = …, output = … } under [provider.%s.models.%q] in config.toml", t.ProviderName, t.Defaults.Model)}
	}
	left := t.Limits.MaxCost - t.spent.cost
	cached, read := min(t.spent.cached, estimate), price.CacheRead
	if read == 0 { // not known: the bill counts it as input
		read = price.Input
	}
	prompt := (float64(cached)*read + float64(estimate-cached)*max(price.Input, price.CacheWrite)) / 1e6
	if left <= prompt {
		return 0, capFailure(fmt.Sprintf("$%.4f of $%.2f spent, the next request costs about $%.4f before its reply", t.spent.cost, t.Limits.MaxCost, prompt), "a higher --max-cost")
	}
	if price.Output <= 0 {
		return 1 << 30, nil
	}
	return max(1, int((left-prompt)*1e6/price.Output)), nil
}

// warnNear tells once per cap when four fifths of it are used.
func (t *turn) warnNear() {
	const near = 0.8
	warn := func(name string, used, limit float64, text string) {
		if limit <= 0 || used < near*limit || t.spent.warned[name] {
			return
		}
		if t.spent.warned == nil {
			t.spent.warned = map[string]bool{}
		}
		t.spent.warned[name] = true
		t.cb.OnNotice(Notice{Kind: NoticeCap, Text: text})
	}
	l := t.Limits
	warn("cost", t.spent.cost, l.MaxCost, fmt.Sprintf("$%.2f of the run's $%.2f are spent", t.spent.cost, l.MaxCost))
	used := t.spent.usage.Total()
	warn("tokens", float64(used), float64(l.MaxTotalTokens), fmt.Sprintf("%d of the run's %d tokens are used", used, l.MaxTotalTokens))
	if !t.warned && l.MaxTurns > 4 && float64(t.response.Steps) >= near*float64(l.MaxTurns) {
		t.warned = true
		t.cb.OnNotice(Notice{Kind: NoticeCap, Text: fmt.Sprintf("%d of this turn's %d steps are used", t.response.Steps, l.MaxTurns)})
	}
}

// account books a complete reply. lost is the part of its usage that tries
// which failed used: it costs, but says nothing of the history's size.
func (t *turn) account(reply provider.Done, lost provider.Usage, began time.Time) error {
	usage := reply.Usage
	if usage.Total() == 0 {
		usage.Input = t.Conversation.EstimatedTokens()
		usage.Output = (replySize(reply.Message) + 3) / 4
		usage.Estimated = true
	}
	own := without(usage, lost)
	if own.Total() > 0 && !reply.Several {
		t.Conversation.Observe(own)
	}
	t.spent.cached = own.CacheRead + own.CacheWrite
	return t.book(RequestReport{ID: reply.RequestID, Model: t.response.Model, Usage: usage, Millis: time.Since(began).Milliseconds(), Tries: max(1, reply.Tries)})
}

// replySize is the size of a reply in bytes.
func replySize(m provider.Message) (n int) {
	for _, p := range m.Parts {
		switch p := p.(type) {
		case provider.Text:
			n += len(p.Text)
		case provider.Reasoning:
			n += len(p.Text)
		case provider.ToolCall:
			n += len(p.Name) + len(p.Input) + len(p.Raw)
		}
	}
	return n
}

func without(all, lost provider.Usage) provider.Usage {
	all.Input -= min(all.Input, lost.Input)
	all.CacheRead -= min(all.CacheRead, lost.CacheRead)
	all.CacheWrite -= min(all.CacheWrite, lost.CacheWrite)
	all.Output -= min(all.Output, lost.Output)
	all.Reasoning -= min(all.Reasoning, lost.Reasoning)
	return all
}

// accountFailure books what a failed request is known to have used, or, when
// pieces of a reply came and nothing is known, about what they cost.
func (t *turn) accountFailure(f failedRequest, began time.Time) {
	usage := f.err.Usage
	if usage.Total() == 0 && f.received > 0 {
		usage = provider.Usage{Input: t.Conversation.EstimatedTokens(), Output: (f.received + 3) / 4, Estimated: true}
	}
	if usage.Total() == 0 {
		return
	}
	id := f.err.RequestID
	if id == "" {
		id = f.started.RequestID
	}
	report := RequestReport{ID: id, Model: t.response.Model, Usage: usage, Millis: time.Since(began).Milliseconds(), Tries: f.tries}
	// The request's own error is what the caller must see; the file that could
	// not take this line fails again, and is told, at the end of the turn.
	_ = t.book(report)
}

// failedRequest is what is known of a request without a whole reply.
type failedRequest struct {
	err      *provider.Error
	started  provider.Started
	received int // bytes of text and reasoning
	tries    int
}

func (t *turn) book(report RequestReport) error {
	report.CostUSD = provider.Cost(report.Usage, t.Info.Price)
	t.spent.usage = t.spent.usage.Add(report.Usage)
	if report.CostUSD == nil {
		t.spent.unknown = true
	} else {
		t.spent.cost += *report.CostUSD
	}
	t.response.Usage = t.response.Usage.Add(report.Usage)
	t.response.Requests = append(t.response.Requests, report)
	t.response.CostUSD = sumCost(t.response.Requests)
	t.cb.OnNotice(Notice{Kind: NoticeUsage, Request: &report})
	return t.Conversation.RecordUsage(report.Model, report.Usage, report.CostUSD)
}

func sumCost(requests []RequestReport) *float64 {
	sum := 0.0
	for _, r := range requests {
		if r.CostUSD == nil {
			return nil
		}
		sum += *r.CostUSD
	}
	return &sum
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
	if a.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(a.Limits.MaxTime-a.spent.elapsed, func() { cancel(c.failure()) })
	}
	return ctx, c
}

func (c *runClock) failure() error {
	return capFailure(fmt.Sprintf("the run's %s are over", c.agent.Limits.MaxTime), "a higher --max-time")
}

// over is the error of a run whose time is up.
func (c *runClock) over() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if limit := c.agent.Limits.MaxTime; limit > 0 && c.agent.spent.elapsed+time.Since(c.since) >= limit {
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
		c.timer.Reset(c.agent.Limits.MaxTime - c.agent.spent.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}
