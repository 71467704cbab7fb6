package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"artoo/agent/ledger"
	"artoo/provider"
)

// How long a request waits for other runs that hold the rest of a day's money, and
// after how long it looks again.
const (
	dayWait = 2 * time.Minute
	dayLook = 200 * time.Millisecond
)

// reserve finds how many tokens a reply may have under the caps that is requested to
// have as many, 0 for no bound, and counts what the request may come to as used until
// t.release: sub-agents side by side, and other runs of the day, cannot spend the same
// rest of a cap. Where it is what others may still use that leaves too little, it waits
// for them.
func (t *turn) reserve(ctx context.Context, requested int) (reply int, err error) {
	t.spent.reserving.Lock()
	defer t.spent.reserving.Unlock()
	var since time.Time // it waits for other runs
	for {
		if err := t.checkLimits(); err != nil {
			return 0, err
		}
		reply, err = t.paid(requested)
		others := t.spent.othersHold(t.Agent)
		var again <-chan time.Time
		if others == nil || err == nil && reply == requested {
			if err != nil {
				return 0, err
			}
			reply, err = t.reserveDay(reply)
			full, ok := errors.AsType[*ledger.FullError](err)
			if !ok {
				break
			}
			if since.IsZero() {
				since = time.Now()
			}
			if full.Held == 0 || time.Since(since) >= dayWait {
				return 0, t.dayOver(full)
			}
			if t.spent.warns("waiting for the day") {
				t.notice(NoticeInfo, "the rest of today's money is held by requests of other runs; waiting for what they leave")
			}
			others, again = nil, time.After(dayLook)
		}
		t.spent.reserving.Unlock()
		select {
		case <-others:
		case <-again:
		case <-ctx.Done():
			err = ctx.Err()
		}
		t.spent.reserving.Lock()
		if ctx.Err() != nil {
			return 0, cmp.Or(err, ctx.Err())
		}
	}
	if err == nil {
		t.holdWorst(reply)
	}
	return reply, err
}

// reserveTry does the same for another try of the request that is under way, and
// waits for nobody: others may wait for it.
func (t *turn) reserveTry(requested int) (reply int, err error) {
	t.spent.reserving.Lock()
	defer t.spent.reserving.Unlock()
	if reply, err = t.paid(requested); err != nil {
		return 0, err
	}
	reply, err = t.reserveDay(reply)
	if full, ok := errors.AsType[*ledger.FullError](err); ok {
		err = t.dayOver(full)
	}
	if err == nil {
		t.holdWorst(reply)
	}
	return reply, err
}

// holdWorst counts the worst case of the request in the run, with what tries of it
// that failed have used.
func (t *turn) holdWorst(reply int) {
	h := hold{tokens: t.losing.Total() + t.promptTokens() + reply}
	switch p, err := t.price(""); {
	case err != nil: // then money is not capped
	case p == nil:
		h.cost = max(t.opt.Limits.MaxCost-t.spent.money(t.Agent), 0)
	default:
		h.cost = t.spentMoney() - t.spent.money(t.Agent) + p.of(reply)
	}
	t.release = t.spent.hold(t.Agent, h)
}

// reserveDay notes the request in the ledger of the day, whose cap may leave less of
// the reply.
func (t *turn) reserveDay(reply int) (int, error) {
	limit := t.opt.Limits.DailyCost
	if t.opt.Ledger == nil {
		return reply, nil
	}
	p, err := t.price("ARTOO_DAILY_COST")
	if err != nil && limit > 0 {
		return 0, err
	}
	known := t.spentOf(provider.Usage{Input: t.promptTokens(), Estimated: true}, t.model.Defaults.Model, nil)
	least, most := 0.0, math.Inf(1)
	if p != nil {
		least, known.CostUSD = p.of(leastPaid(reply)), &p.prompt
		if reply > 0 || p.output <= 0 {
			most = p.of(reply)
		}
	}
	if t.reservation == nil {
		t.reservation, err = t.opt.Ledger.Reserve(known, least, most, limit)
	} else {
		err = t.reservation.Raise(t.spentMoney()-t.spent.money(t.Agent), least, most)
	}
	if _, full := errors.AsType[*ledger.FullError](err); full {
		return 0, err
	}
	if err != nil {
		return reply, t.noLedger(err)
	}
	t.warnDay(t.reservation.Day)
	if limit <= 0 || p == nil || t.reservation.Granted >= most {
		return reply, nil
	}
	return tightest(reply, p.buys(t.reservation.Granted)), nil
}

// spentOf is a line of the ledger.
func (a *Agent) spentOf(usage provider.Usage, model string, cost *float64) ledger.Spent {
	s := ledger.Spent{Provider: a.model.Name, Model: model, Session: a.sessionID, Ephemeral: a.opt.Sessions.Ephemeral,
		Usage: usage, CostUSD: cost}
	if !s.Ephemeral {
		s.Dir = a.opt.Env.Dir
	}
	return s
}

// noLedger is what it means that the ledger cannot be used: with a cap on the day's
// money no request is made, without one the user is notified once.
func (t *turn) noLedger(err error) error {
	if t.opt.Limits.DailyCost > 0 {
		return &Failure{Kind: KindConfig, What: "ARTOO_DAILY_COST", Err: fmt.Errorf("what is spent cannot be counted: %w", err),
			Hint: "make the state directory writable (artoo doctor --paths), or unset ARTOO_DAILY_COST"}
	}
	if t.spent.warns("ledger") {
		t.notice(NoticeWarning, "what this run spends is not in artoo usage: "+err.Error())
	}
	return nil
}

func (t *turn) dayOver(full *ledger.FullError) error {
	why := full.Error()
	if full.Held > 0 {
		why += fmt.Sprintf(", and requests under way may cost $%.4f", full.Held)
	}
	if full.Least > 0 {
		why += fmt.Sprintf("; the next request costs about $%.4f with a short reply", full.Least)
	}
	return capFailure(why, t.goOn(" tomorrow", "a higher ARTOO_DAILY_COST"))
}

// settleDay notes in the ledger what the request came to.
func (t *turn) settleDay(report RequestReport) {
	if t.reservation == nil {
		return
	}
	if err := t.reservation.Settle(t.spentOf(report.Usage, report.Model, report.CostUSD)); err != nil {
		t.lostSettling(err)
	}
}

// endRequest gives back what was counted for a request that is over, whatever came
// of it.
func (t *turn) endRequest() {
	t.release()
	if t.reservation != nil {
		if err := t.reservation.Release(); err != nil {
			t.lostSettling(err)
		}
		t.reservation = nil
	}
}

// lostSettling: what was reserved stays so until the run ends, so that no cap is
// passed; the next request is refused if nothing can be written then either.
func (t *turn) lostSettling(err error) {
	if t.spent.warns("ledger") {
		t.notice(NoticeWarning, "what this run spends is not in artoo usage: "+err.Error())
	}
}

// warnDay tells once when four fifths of a day's money are spent.
func (t *turn) warnDay(spent float64) {
	limit := t.opt.Limits.DailyCost
	if limit > 0 && spent >= near*limit && t.spent.warns("day") {
		t.notice(NoticeCap, fmt.Sprintf("$%.2f of today's $%.2f are spent, by all runs", spent, limit))
	}
}
