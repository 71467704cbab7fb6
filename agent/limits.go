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

// checkLimits is asked before every request. room is how many tokens the reply
// may have under the caps, 0 for no bound.
func (t *turn) checkLimits() (room int, err error) {
	l, estimate := t.Limits, t.Conversation.EstimatedTokens()
	t.warnNear()
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
		if room == 0 || afford < room {
			room = afford
		}
	}
	return room, nil
}

// affordable is how long a reply the rest of the money buys. What the provider
// is believed to have cached is counted at the price of reading it.
func (t *turn) affordable(estimate int) (int, error) {
	price := t.Info.Price
	if price == nil {
		return 0, &Failure{Kind: KindUsage, What: "--max-cost", Err: fmt.Errorf("the price of %s is not known, so it cannot be capped", t.Defaults.Model),
			Hint: fmt.Sprintf("set price = { input = …, output = … } under [provider.%s.models.%q] in config.toml", t.ProviderName, t.Defaults.Model)}
	}
	left := t.Limits.MaxCost - t.spent.cost
	cached := min(t.spent.cached, estimate)
	prompt := (float64(cached)*price.CacheRead + float64(estimate-cached)*max(price.Input, price.CacheWrite)) / 1e6
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

// account books a complete reply.
func (t *turn) account(request provider.Request, reply provider.Done, began time.Time) error {
	usage := reply.Usage
	if usage.Total() == 0 {
		usage.Input = t.Conversation.EstimatedTokens()
		usage.Output = (len(reply.Message.Text()) + 3) / 4
		usage.Estimated = true
	}
	if reply.Message.Model != "" {
		t.response.Model = reply.Message.Model
	}
	t.Conversation.Observe(usage)
	t.spent.cached = usage.CacheRead + usage.CacheWrite
	return t.book(RequestReport{ID: reply.RequestID, Model: t.response.Model, Usage: usage, Millis: now().Sub(began).Milliseconds(), Tries: max(1, reply.Tries)})
}

// accountFailure books what a failed request is known to have used.
func (t *turn) accountFailure(request provider.Request, err error, started provider.Started, began time.Time) {
	e := provider.AsError(err)
	if e == nil || e.Usage.Total() == 0 {
		return
	}
	model := started.Model
	if model == "" {
		model = request.Model
	}
	report := RequestReport{ID: e.RequestID, Model: model, Usage: e.Usage, Millis: now().Sub(began).Milliseconds(), Tries: 1}
	// The request's own error is what the caller must see; the file that could
	// not take this line fails again, and is told, at the end of the turn.
	_ = t.book(report)
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
	c := &runClock{agent: a, cancel: cancel, since: now()}
	if a.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(a.Limits.MaxTime-a.spent.elapsed, func() {
			cancel(capFailure(fmt.Sprintf("the run's %s are over", a.Limits.MaxTime), "a higher --max-time"))
		})
	}
	return ctx, c
}

func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.agent.spent.elapsed += now().Sub(c.since)
	c.paused = true
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *runClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.since = now()
	c.paused = false
	if c.timer != nil {
		c.timer.Reset(c.agent.Limits.MaxTime - c.agent.spent.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}
