package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"artoo/agent/ledger"
	"artoo/provider"
	"artoo/tool/text"
)

// How long a request waits for other runs that hold the rest of a day's money, and how often it looks.
const (
	dayWait = 2 * time.Minute
	dayLook = 200 * time.Millisecond
)

// spending is the usage of a run and its sub-agents so far. The zero value is usable.
type spending struct {
	reserving sync.Mutex // one request at a time is measured against the rest of the caps

	// asking lets one agent at a time ask whether to wait for a limit. The user agreed to wait until waits.
	asking sync.Mutex
	waits  time.Time

	mu      sync.Mutex
	usage   provider.Usage
	cost    float64 // US dollars
	unknown bool    // some request's price is unknown
	warned  map[string]bool
	// quota is of the last reply; nil where it reported none.
	quota *provider.Quota
	// pending is the highest cost of the requests under way: several side by side cannot
	// spend the same rest of a cap.
	pending  map[*session]pendingCost
	released chan struct{} // closed with the next release; nil without a waiter
}

// pendingCost is the highest cost of one request, reserved for the run and in the ledger of the day.
type pendingCost struct {
	tokens int
	cost   float64
	day    *ledger.Reservation // nil where no ledger counts it
}

// sum is the usage, and its cost, nil where that is not known.
func (s *spending) sum() (provider.Usage, *float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknown {
		return s.usage, nil
	}
	return s.usage, new(s.cost)
}

// see takes note of the rate limits that a reply reported, nil for none.
func (m *money) see(q *provider.Quota) {
	s := m.spent
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quota = q
}

// seen are the rate limits that the last reply reported, nil for none.
func (s *spending) seen() *provider.Quota {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quota
}

// usedFor is the usage that counts for a session: also the highest cost of others' requests under way.
func (s *spending) usedFor(by *session) (tokens int, cost float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tokens, cost = s.usage.Total(), s.cost
	for other, p := range s.pending {
		if other != by {
			tokens, cost = tokens+p.tokens, cost+p.cost
		}
	}
	return tokens, cost
}

// pendingOf is the highest cost of a session's request, zero where none is under way.
func (s *spending) pendingOf(by *session) pendingCost {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending[by]
}

func (s *spending) setPending(by *session, p pendingCost) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pending == nil {
		s.pending = map[*session]pendingCost{}
	}
	s.pending[by] = p
}

// othersPending is closed when a request of another session is over; nil where none is under way.
func (s *spending) othersPending(by *session) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, own := s.pending[by]; len(s.pending) == 0 || own && len(s.pending) == 1 {
		return nil
	}
	if s.released == nil {
		s.released = make(chan struct{})
	}
	return s.released
}

// warns reports whether a cap was not warned of yet.
func (s *spending) warns(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	was := s.warned[name]
	s.warned[name] = true
	return !was
}

// money reserves the highest cost of each request of a turn before it is made, and settles its real cost: for the caps
// of the run, and in the ledger of the day.
type money struct {
	session *session
	cb      *serial
	clock   *runClock
	spent   *spending

	aside int            // tokens of a request that is not of the history, 0 for one that is
	lost  provider.Usage // Failed tries of the present request used it.
}

func (m *money) promptTokens() int {
	if m.aside > 0 {
		return m.aside
	}
	return m.session.conv.EstimatedTokens()
}

// reserve finds how many tokens of those requested, 0 for no bound, a reply may have under the caps, and counts the
// request's highest cost as used until release. Where the reservations of others leave too little, it waits for them.
func (m *money) reserve(ctx context.Context, requested int) (reply int, err error) {
	m.spent.reserving.Lock()
	defer m.spent.reserving.Unlock()
	var since time.Time // it waits for other runs
	for {
		m.warnNear()
		if err := m.clock.over(); err != nil { // at once: the timer ends a request, it does not forbid one
			return 0, err
		}
		reply, err = m.affordable(requested)
		others := m.spent.othersPending(m.session)
		var again <-chan time.Time
		if others == nil || err == nil && reply == requested {
			if err != nil {
				return 0, err
			}
			reply, err = m.commit(reply)
			full, ok := errors.AsType[*ledger.FullError](err)
			if !ok {
				return reply, err
			}
			if since.IsZero() {
				since = time.Now()
			}
			if full.Held == 0 || time.Since(since) >= dayWait {
				return 0, m.dayOver(full)
			}
			if m.spent.warns("waiting for the day") {
				m.cb.notice(NoticeInfo, "other runs have reserved the rest of today's money; waiting for them")
			}
			others, again = nil, time.After(dayLook)
		}
		m.spent.reserving.Unlock()
		select {
		case <-others:
		case <-again:
		case <-ctx.Done():
		}
		m.spent.reserving.Lock()
		if ctx.Err() != nil {
			return 0, cmp.Or(err, ctx.Err())
		}
	}
}

// reserveTry is reserve for another try of a request, and never waits: others may wait for it.
func (m *money) reserveTry(requested int) (reply int, err error) {
	m.spent.reserving.Lock()
	defer m.spent.reserving.Unlock()
	if reply, err = m.affordable(requested); err != nil {
		return 0, err
	}
	reply, err = m.commit(reply)
	if full, ok := errors.AsType[*ledger.FullError](err); ok {
		err = m.dayOver(full)
	}
	return reply, err
}

func (m *money) settle(report RequestReport) {
	m.lost = provider.Usage{}
	s := m.spent
	s.mu.Lock()
	s.usage = s.usage.Add(report.Usage)
	if report.CostUSD == nil {
		s.unknown = true
	} else {
		s.cost += *report.CostUSD
	}
	day := s.pending[m.session].day
	s.mu.Unlock()
	if day != nil {
		line := m.ledgerLine(report.Usage, report.Model, report.CostUSD)
		line.Quota = report.Quota
		m.warnLedger(day.Settle(line))
	}
}

// release gives back the reservation of a request that is over.
func (m *money) release() {
	s := m.spent
	s.mu.Lock()
	day := s.pending[m.session].day
	delete(s.pending, m.session)
	if s.released != nil {
		close(s.released)
		s.released = nil
	}
	s.mu.Unlock()
	if day != nil {
		m.warnLedger(day.Release())
	}
}

// warnLedger reports once that the ledger cannot be written. Reservations in it stay.
func (m *money) warnLedger(err error) {
	if err != nil && m.spent.warns("ledger") {
		m.cb.notice(NoticeWarning, "this run's cost is not in artoo usage: "+err.Error())
	}
}

// affordable is how many of the requested tokens the run's caps pay for, 0 for no bound. The
// error means that they do not pay for a useful reply.
func (m *money) affordable(requested int) (reply int, err error) {
	l, prompt := m.session.opt.Limits, m.promptTokens()
	tokens, spent := m.spent.usedFor(m.session)
	reply = requested
	if l.MaxTotalTokens > 0 {
		left := l.MaxTotalTokens - tokens - m.lost.Total()
		if left < prompt+leastPaid(requested) {
			return 0, m.runOver(fmt.Sprintf("the next request needs about %s, but only %d are left",
				text.Count(prompt+leastPaid(requested), "token"), max(left, 0)), "a higher ARTOO_MAX_TOTAL_TOKENS")
		}
		reply = tightest(reply, left-prompt)
	}
	if l.MaxCost <= 0 {
		return reply, nil
	}
	p, err := m.price("--max-cost")
	if err != nil {
		return 0, err
	}
	left := l.MaxCost - spent - m.lostCost()
	why := text.Dollars(l.MaxCost-left) + " of " + text.Dollars(l.MaxCost) + " spent"
	switch {
	case p != nil && (left < p.of(leastPaid(requested)) || left <= 0):
		why += ", the next request costs about " + text.Dollars(p.of(leastPaid(requested))) + " with a short reply"
		fallthrough
	case left <= 0:
		return 0, m.runOver(why, "a higher --max-cost")
	case p == nil:
		return reply, nil
	}
	return tightest(reply, p.buys(left)), nil
}

// commit counts the worst case of a request, its failed tries included, in the run and in the
// ledger of the day, whose cap may leave less of the reply.
func (m *money) commit(reply int) (int, error) {
	s := m.spent.pendingOf(m.session)
	_, spent := m.spent.usedFor(m.session)
	limits := m.session.opt.Limits
	p, unpriced := m.price("ARTOO_DAILY_COST")
	if m.session.opt.Ledger != nil {
		if unpriced != nil && limits.DailyCost > 0 {
			return 0, unpriced
		}
		var err error
		if reply, err = m.commitDay(p, reply, &s.day); err != nil {
			return 0, err
		}
	}
	s.tokens, s.cost = m.lost.Total()+m.promptTokens()+reply, 0
	switch {
	case unpriced != nil: // money is not capped
	case p == nil:
		s.cost = max(limits.MaxCost-spent, 0)
	default:
		s.cost = m.lostCost() + p.of(reply)
	}
	m.spent.setPending(m.session, s)
	return reply, nil
}

// commitDay reserves in the ledger, or raises the reservation there. p is nil without a known price.
func (m *money) commitDay(p *pricing, reply int, day **ledger.Reservation) (int, error) {
	limit := m.session.opt.Limits.DailyCost
	known := m.ledgerLine(provider.Usage{Input: m.promptTokens(), Estimated: true}, m.session.model.Defaults.Model, nil)
	least, most := 0.0, math.Inf(1)
	if p != nil {
		least, known.CostUSD = p.of(leastPaid(reply)), &p.prompt
		if reply > 0 || p.output <= 0 {
			most = p.of(reply)
		}
	}
	var err error
	if *day == nil {
		*day, err = m.session.opt.Ledger.Reserve(known, least, most, limit)
	} else {
		err = (*day).Raise(m.lostCost(), least, most)
	}
	_, full := errors.AsType[*ledger.FullError](err)
	switch {
	case full:
		return 0, err
	case err != nil && limit > 0:
		return 0, &Failure{Kind: KindConfig, What: "ARTOO_DAILY_COST", Err: fmt.Errorf("spending cannot be counted: %w", err),
			Hint: "make the state directory writable (artoo doctor --paths), or unset ARTOO_DAILY_COST"}
	case err != nil:
		m.warnLedger(err)
		return reply, nil
	}
	if spent := (*day).Day; limit > 0 && spent >= capNear*limit && m.spent.warns("day") {
		m.cb.notice(NoticeCap, "all runs have spent "+text.Dollars(spent)+" of today's "+text.Dollars(limit))
	}
	if limit <= 0 || p == nil || (*day).Granted >= most {
		return reply, nil
	}
	return tightest(reply, p.buys((*day).Granted)), nil
}

func (m *money) ledgerLine(usage provider.Usage, model string, cost *float64) ledger.Spent {
	s := m.session
	line := ledger.Spent{Provider: s.model.Name, Model: model, Session: s.sessionID, Ephemeral: s.opt.Sessions.Ephemeral,
		Usage: usage, CostUSD: cost}
	if !line.Ephemeral {
		line.Dir = s.opt.Env.Dir
	}
	return line
}

func (m *money) dayOver(full *ledger.FullError) error {
	why := full.Error()
	if full.Held > 0 {
		why += ", and requests under way may cost " + text.Dollars(full.Held)
	}
	if full.Least > 0 {
		why += "; the next request costs about " + text.Dollars(full.Least) + " with a short reply"
	}
	return capFailure(why, m.session.goOn(" tomorrow", "a higher ARTOO_DAILY_COST"))
}

func (m *money) runOver(why, hint string) error { return capFailure(why, m.session.goOn("", hint)) }

// lostCost is the cost of failed tries of the request that is under way, as far as is known.
func (m *money) lostCost() float64 {
	if cost := provider.Cost(m.lost, m.session.model.Info.Price); cost != nil {
		return *cost
	}
	return 0
}

// leastPaid is the shortest reply, in tokens, that a request is made for.
func leastPaid(requested int) int { return tightest(leastReply, requested) }

// pricing is the price of the next request, in US dollars.
type pricing struct {
	prompt float64
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

// price is the price of the next request. Input that the provider is believed to have cached
// is counted at the price of reading it. It is nil if only the bill will show it. The
// error means that no price is known, so that the cap cannot hold.
func (m *money) price(capName string) (*pricing, error) {
	model := m.session.model
	price := model.Info.Price
	if price == nil && model.Info.Billed {
		return nil, nil
	}
	if price == nil {
		return nil, &Failure{Kind: KindUsage, What: capName,
			Err: fmt.Errorf("the price of %s is unknown, so its cost cannot be capped", model.Defaults.Model),
			Hint: fmt.Sprintf("set price = { input = …, output = … } under [provider.%s.models.%q] in config.toml",
				model.Name, model.Defaults.Model)}
	}
	prompt := m.promptTokens()
	now := price.For(prompt)
	cached, read := min(m.session.cached, prompt), now.CacheRead
	if read == 0 { // not known: the bill counts it as input
		read = now.Input
	}
	cost := (float64(cached)*read + float64(prompt-cached)*max(now.Input, now.CacheWrite)) / 1e6
	return &pricing{prompt: cost, output: now.Output}, nil
}

// capNear is the share of a cap of whose use the user is notified.
const capNear = 0.8

// leastTime is the shortest time of a run whose near end the user is notified of: with
// less the notice and the end come together.
const leastTime = 10 * time.Second

// warnNear reports once per cap that four fifths of it are used.
func (m *money) warnNear() {
	warn := func(name string, used, limit float64, text string) {
		if limit > 0 && used >= capNear*limit && m.spent.warns(name) {
			m.cb.notice(NoticeCap, text)
		}
	}
	l := m.session.opt.Limits
	m.spent.mu.Lock()
	tokens, cost := m.spent.usage.Total(), m.spent.cost
	m.spent.mu.Unlock()
	warn("cost", cost, l.MaxCost, text.Dollars(cost)+" of the run's "+text.Dollars(l.MaxCost)+" is spent")
	warn("tokens", float64(tokens), float64(l.MaxTotalTokens),
		fmt.Sprintf("%d of the run's %d tokens are used", tokens, l.MaxTotalTokens))
	if elapsed := m.clock.elapsed(); l.MaxTime >= leastTime {
		warn("time", elapsed.Seconds(), l.MaxTime.Seconds(),
			fmt.Sprintf("%s of the run's %s has passed", elapsed.Round(time.Second), l.MaxTime))
	}
}

// without subtracts the usage of failed tries from a sum.
func without(all, lost provider.Usage) provider.Usage {
	all.Input -= min(all.Input, lost.Input)
	all.CacheRead -= min(all.CacheRead, lost.CacheRead)
	all.CacheWrite -= min(all.CacheWrite, lost.CacheWrite)
	all.Output -= min(all.Output, lost.Output)
	all.Reasoning -= min(all.Reasoning, lost.Reasoning)
	if all.CostUSD != nil && lost.CostUSD != nil {
		all.CostUSD = new(*all.CostUSD - *lost.CostUSD)
	}
	return all
}

// plus adds costs; an unknown one makes the sum unknown.
func plus(a, b *float64) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}
