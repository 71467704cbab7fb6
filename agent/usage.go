package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"artoo/conversation"
	"artoo/provider"
)

// ContextUse counts tokens.
type ContextUse struct {
	Used     int // Used is an estimate for the next request.
	Budget   int // Budget bounds the history; 0 for unlimited.
	Window   int // Window is 0 when unknown.
	Free     int
	Messages int
	Parts    []ContextPart // Their sum is about Used.
}

// ContextPart is a part of what the model is sent.
type ContextPart struct {
	Name   string
	Tokens int
}

// Context tells how full the context is.
func (a *Agent) Context() ContextUse {
	c := a.session.conv
	info := ContextUse{Used: c.EstimatedTokens(), Budget: c.Budget(), Window: a.session.model.Info.Context,
		Messages: c.MessageCount()}
	parts, sum := a.contextParts()
	for _, p := range parts {
		if p.Tokens > 0 {
			info.Parts = append(info.Parts, ContextPart{p.Name, int(int64(p.Tokens) * int64(info.Used) / int64(sum))})
		}
	}
	info.Free = max(info.Budget-info.Used, 0)
	return info
}

// Cost counts the whole session where there is a file, else this run, of which it
// does not know the requests.
func (a *Agent) Cost() conversation.Totals {
	if s := a.session.conv.Session(); s != nil {
		return s.Totals()
	}
	usage, cost := a.Spent()
	return conversation.Totals{Usage: usage, CostUSD: cost}
}

// contextParts are the parts of the next request as they are estimated one by one,
// and their sum.
func (a *Agent) contextParts() (parts []ContextPart, sum int) {
	conv, sizes := a.session.conv, map[string]int{}
	for _, spec := range a.session.specs() {
		sizes["tools"] += conv.ToolTokens(spec)
	}
	for _, i := range a.notes.instructions {
		if strings.Contains(a.session.system, strings.TrimSpace(i.Text)) {
			sizes["instructions"] += conv.TextTokens(i.Text)
		}
	}
	sizes["system prompt"] = max(conv.TextTokens(a.session.system)-sizes["instructions"], 0)
	for _, m := range conv.Messages() {
		for _, p := range m.Parts {
			kind := "answers and reasoning"
			if m.Role == provider.RoleUser {
				kind = "your messages"
			}
			switch p := p.(type) {
			case provider.ToolCall:
				kind = "tool calls"
			case provider.ToolResult:
				kind = "images"
				text := p
				text.Images = nil
				sizes["tool results"] += conv.PartTokens(text)
				sizes[kind] -= conv.PartTokens(text)
			case provider.Image:
				kind = "images"
			case provider.Text:
				if p.Note == provider.NoteSummary {
					kind = "summary"
				}
			}
			sizes[kind] += conv.PartTokens(p)
		}
	}
	for _, name := range []string{"system prompt", "instructions", "tools", "your messages", "summary", "answers and reasoning",
		"tool calls", "tool results", "images"} {
		parts = append(parts, ContextPart{name, sizes[name]})
		sum += sizes[name]
	}
	return parts, max(sum, 1)
}

// Spent is the run's usage and cost; the cost is nil when a price is unknown.
func (a *Agent) Spent() (provider.Usage, *float64) { return a.spent.sum() }

// Spend counts time that a front end used for the run before the first turn.
func (a *Agent) Spend(elapsed time.Duration) { a.session.elapsed += elapsed }

// Today is what all runs of the user have spent on the present local day (2006-01-02),
// in US dollars as far as prices are known; ok is false where nobody counts it.
func (a *Agent) Today() (date string, spent float64, ok bool) {
	if a.session.opt.Ledger == nil {
		return "", 0, false
	}
	date, spent, err := a.session.opt.Ledger.Today()
	return date, spent, err == nil
}

// Left is what the caps leave of money, in US dollars, and of tokens; 0 where
// there is no cap. It is for a provider that can keep them within a request, and
// to be called by it only.
func (a *Agent) Left() (money float64, tokens int) {
	l := a.session.opt.Limits
	used, spent := a.spent.usedFor(a.session)
	if l.MaxCost > 0 {
		money = max(l.MaxCost-spent, leastMoney)
	}
	if day := a.spent.pendingOf(a.session).day; l.DailyCost > 0 && day != nil {
		if granted := max(day.Granted, leastMoney); money == 0 || granted < money {
			money = granted
		}
	}
	if l.MaxTotalTokens > 0 {
		tokens = max(l.MaxTotalTokens-used, 1)
	}
	return money, tokens
}

// leastMoney is what is left where nothing is, since 0 would be no cap.
const leastMoney = 1e-6

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
