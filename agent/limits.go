package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"artoo/provider"
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

// Spent is the run's usage and cost; the cost is nil when a price is unknown.
func (a *Agent) Spent() (provider.Usage, *float64) {
	return a.spent.sum()
}

// Today is what all runs of the user have spent on the present local day (2006-01-02),
// in US dollars as far as prices are known; ok is false where nobody counts it.
func (a *Agent) Today() (date string, spent float64, ok bool) {
	if a.opt.Ledger == nil {
		return "", 0, false
	}
	date, spent, err := a.opt.Ledger.Today()
	return date, spent, err == nil
}

// Left is what the caps leave of money, in US dollars, and of tokens; 0 where
// there is no cap. It is for a provider that can keep them within a request, and
// to be called by it only.
func (a *Agent) Left() (money float64, tokens int) {
	l := a.opt.Limits
	if l.MaxCost > 0 {
		money = max(l.MaxCost-a.spent.money(a), leastMoney)
	}
	if l.DailyCost > 0 && a.reservation != nil {
		if granted := max(a.reservation.Granted, leastMoney); money == 0 || granted < money {
			money = granted
		}
	}
	if l.MaxTotalTokens > 0 {
		tokens = max(l.MaxTotalTokens-a.spent.tokens(a), 1)
	}
	return money, tokens
}

// leastMoney is what is left where nothing is, since 0 would be no cap.
const leastMoney = 1e-6

// paid is how many tokens a reply may have under the run's caps, and is requested to
// have, 0 for no bound. It is asked before every try. The error says that they do not
// pay for one that says something.
func (t *turn) paid(requested int) (reply int, err error) {
	l, prompt := t.opt.Limits, t.promptTokens()
	reply = requested
	if l.MaxTotalTokens > 0 {
		left := l.MaxTotalTokens - t.spent.tokens(t.Agent) - t.losing.Total()
		if left < prompt+leastPaid(requested) {
			return 0, t.runOver(fmt.Sprintf("the next request needs about %s of the %d left",
				count(prompt+leastPaid(requested), "token"), max(left, 0)), "a higher ARTOO_MAX_TOTAL_TOKENS")
		}
		reply = tightest(reply, left-prompt)
	}
	if l.MaxCost <= 0 {
		return reply, nil
	}
	p, err := t.price("--max-cost")
	if err != nil {
		return 0, err
	}
	left := l.MaxCost - t.spentMoney()
	if p == nil && left <= 0 {
		return 0, t.runOver(fmt.Sprintf("$%.4f of $%.2f spent", l.MaxCost-left, l.MaxCost), "a higher --max-cost")
	}
	if p == nil {
		return reply, nil
	}
	if left < p.of(leastPaid(requested)) || left <= 0 {
		return 0, t.runOver(fmt.Sprintf("$%.4f of $%.2f spent, the next request costs about $%.4f with a short reply",
			l.MaxCost-left, l.MaxCost, p.of(leastPaid(requested))), "a higher --max-cost")
	}
	return tightest(reply, p.buys(left)), nil
}

// runOver is the failure of a cap of the run.
func (t *turn) runOver(why, hint string) error { return capFailure(why, t.goOn("", hint)) }

// goOn says how to go on after a cap, when (" tomorrow", or "").
func (a *Agent) goOn(when, hint string) string {
	if a.sessionID == "" {
		return hint
	}
	return `artoo -c "go on"` + when + ", or " + hint
}

// leastPaid is the shortest reply, in tokens, that a request is made for.
func leastPaid(requested int) int { return tightest(leastReply, requested) }

// pricing is what the next request costs, in US dollars.
type pricing struct {
	prompt float64 // what is sent
	output float64 // a million tokens of the reply
}

// of is the price with a reply of so many tokens.
func (p *pricing) of(reply int) float64 { return p.prompt + float64(reply)*p.output/1e6 }

// buys is how long a reply the money pays for, in tokens.
func (p *pricing) buys(money float64) int {
	if p.output <= 0 {
		return 0
	}
	return max(1, int((money-p.prompt)*1e6/p.output))
}

// price is what the next request costs. What the provider is believed to have cached
// is counted at the price of reading it. It is nil where only the bill will tell; where
// nobody will, the error says that the cap cannot hold.
func (t *turn) price(capName string) (*pricing, error) {
	price := t.model.Info.Price
	if price == nil && t.model.Info.Billed {
		return nil, nil
	}
	if price == nil {
		name, model := t.model.Name, t.model.Defaults.Model
		return nil, &Failure{Kind: KindUsage, What: capName,
			Err: fmt.Errorf("the price of %s is not known, so it cannot be capped", model),
			Hint: fmt.Sprintf("set price = { input = …, output = … } under [provider.%s.models.%q] in config.toml",
				name, model)}
	}
	prompt := t.promptTokens()
	now := price.For(prompt)
	cached, read := min(t.cached, prompt), now.CacheRead
	if read == 0 { // not known: the bill counts it as input
		read = now.Input
	}
	cost := (float64(cached)*read + float64(prompt-cached)*max(now.Input, now.CacheWrite)) / 1e6
	return &pricing{prompt: cost, output: now.Output}, nil
}

// checkLimits is asked before every request.
func (t *turn) checkLimits() error {
	t.warnNear()
	return t.clock.over() // at once: the timer ends a request, it does not forbid one
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

// near is the share of a cap of whose use the user is notified.
const near = 0.8

// leastTime is the shortest time of a run whose near end the user is notified of: with
// less the notice and the end come together.
const leastTime = 10 * time.Second

// warnNear tells once per cap when four fifths of it are used.
func (t *turn) warnNear() {
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
	if elapsed := t.clock.elapsed(); l.MaxTime >= leastTime {
		warn("time", elapsed.Seconds(), l.MaxTime.Seconds(),
			fmt.Sprintf("%s of the run's %s are over", elapsed.Round(time.Second), l.MaxTime))
	}
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
