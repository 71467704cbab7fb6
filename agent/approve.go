package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"artoo/agent/permission"
	"artoo/tool"
)

// ask asks until there is a clear answer. The error ends the turn: an interrupt, or the user's wish.
func (a *prompter) ask(ctx context.Context, p *pending) error {
	p.asked = true
	a.number++
	a.of = max(a.of, a.number)
	for {
		decision := p.decision
		answer, err := a.calls.ask(ctx, p, Question{
			Kind: QuestionApproval, Call: p.call, Dir: a.calls.session.opt.Env.Dir, Reason: decision.Reason(), Reasons: decision.Reasons, Own: decision.Own,
			Place: decision.Place, Network: a.calls.session.opt.Policy.Confinement.Network,
			Rule: decision.Narrow, Suggested: decision.Suggested, Number: a.number, Of: a.of,
			Covers: func(rule string) error {
				_, err := a.calls.session.opt.Policy.Covers(rule, p.tool.Name, p.call.Access)
				return err
			},
		})
		switch {
		case context.Cause(ctx) != nil:
			p.interrupted(context.Cause(ctx))
			return context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			a.calls.unanswered(p, err, decision.Reason())
			return nil
		case err != nil:
			a.calls.deny(p, err.Error(), false)
			return nil
		}
		if answer.Input != nil {
			err = a.replace(ctx, p, answer)
			switch {
			case err != nil && answer.Verdict == Yes:
				a.calls.deny(p, err.Error(), false)
				return nil
			case answer.Verdict == Yes:
				answer.Input = nil
				if p.decision.Verdict == permission.Run {
					return nil
				}
				_, err = a.take(p, answer)
				return err
			case err != nil:
				a.calls.cb.notice(NoticeWarning, err.Error())
			}
			continue // An edited call is not approved yet, even where a rule allows it.
		}
		if ok, err := a.take(p, answer); ok {
			return err
		}
	}
}

// replace sets the user's version of the input, as if the model had sent it.
// One that may not run leaves the call as it was, and is the error.
func (a *prompter) replace(ctx context.Context, p *pending, answer Answer) error {
	before, decision, reads, opinion, halt := p.call, p.decision, p.reads, p.opinion, p.halt
	p.opinion = permission.Opinion{} // It was about the input before.
	p.call.Input = json.RawMessage(answer.Input)
	if !a.calls.marked(p) {
		a.calls.plan(ctx, p)
		a.calls.beforeTool(ctx, p)
	}
	var err error
	switch {
	case p.final:
		err = errors.New("the edited call cannot run: " + a.calls.session.masked(p.outcome.Text))
	case p.decision.Verdict == permission.Refuse:
		err = errors.New("the edited call is denied: " + p.decision.Reason())
	default:
		by := "user"
		if answer.By != "" {
			by = "hook or program " + answer.By
		}
		p.edited = "The " + by + " changed the input of this call before it ran, to: " + string(p.call.Input)
		return nil
	}
	p.final, p.outcome, p.call, p.decision, p.reads = false, CallResult{}, before, decision, reads
	p.opinion, p.halt = opinion, halt
	return err
}

// take acts on an answer. ok is false when it must be asked again.
func (a *prompter) take(p *pending, answer Answer) (ok bool, err error) {
	switch answer.Verdict {
	case Yes:
		return true, nil
	case YesForSession, YesForever:
		return a.remember(p, answer), nil
	case StopTurn:
		a.calls.deny(p, "the user stopped the turn", false)
		return true, ErrStopped
	}
	a.calls.deny(p, answer.Reason, false)
	return true, nil
}

// remember adds the rule of a lasting yes. One that would not allow this very call is asked again.
func (a *prompter) remember(p *pending, answer Answer) bool {
	if answer.Rule == "" && p.decision.Has(permission.OwnPrograms) {
		if place := a.calls.session.opt.Policy.NoTrust; place != "" {
			a.calls.cb.notice(NoticeWarning, place+": no project is trusted to run its own programs")
			return false
		}
		a.trustPrograms(answer.Verdict == YesForever)
		return true
	}
	rule := cmp.Or(answer.Rule, p.decision.Narrow)
	if err := a.calls.session.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
		a.calls.cb.notice(NoticeWarning, err.Error())
		return false
	}
	if r, err := permission.ParseRule(rule); err == nil && r.Remark() != "" {
		a.calls.cb.notice(NoticeInfo, r.String()+" also covers "+r.Remark())
	}
	if answer.Verdict == YesForever {
		if err := a.save(rule, p); err != nil {
			a.calls.cb.notice(NoticeWarning, "the rule holds for this session only: "+err.Error())
		}
	}
	return true
}

// save keeps a rule permanently, which then also applies to the parent agent.
func (a *prompter) save(rule string, p *pending) error {
	s := a.calls.session
	if s.parent != nil {
		if err := s.parent.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
			return err
		}
	}
	if s.opt.SaveRule == nil {
		return errors.New("rules cannot be saved here")
	}
	if err := s.opt.SaveRule(rule); err != nil {
		return err
	}
	for ; s != nil; s = s.parent {
		s.opt.Policy.Keep(rule)
	}
	return nil
}

func (a *prompter) trustPrograms(forever bool) {
	for s := a.calls.session; s != nil; s = s.parent {
		if s.opt.Policy.TrustsPrograms = true; !forever {
			break
		}
	}
	if !forever {
		return
	}
	err := errors.New("trust cannot be saved here")
	if save := a.calls.session.opt.TrustPrograms; save != nil {
		err = save()
	}
	if err != nil {
		a.calls.cb.notice(NoticeWarning, "the project is trusted for this session only: "+err.Error())
	}
}

// decide asks the user if the policy says so. After an error, which ends the turn, the call has
// its outcome.
func (c *calls) decide(ctx context.Context, p *pending, stop error) error {
	if stop == nil {
		stop = context.Cause(ctx)
	}
	if p.final {
		return p.halt
	}
	if stop != nil {
		p.interrupted(stop)
		return nil
	}
	if c.session.beside && (!p.reads || p.decision.Verdict == permission.Ask) {
		c.deny(p, "a question beside the session (/btw) only reads, and nobody is asked", false)
		return nil
	}
	if p.decision.Verdict != permission.Refuse && c.passesCap(ctx, p, false) {
		return nil
	}
	if d := &p.decision; d.Verdict == permission.Ask && len(d.Keep) > 0 {
		lost, err := guard(func() (string, error) { return c.keeper.unsaved(d.Keep), nil })
		if err != nil {
			p.crashed(err)
			return nil
		}
		if lost == "" {
			d.Verdict = permission.Run
		} else {
			d.Reasons = append(d.Reasons, permission.Reason{Code: permission.NotKept, Object: lost})
		}
	}
	switch p.decision.Verdict {
	case permission.Run:
		return nil
	case permission.Ask:
		return p.asks.ask(ctx, p)
	}
	c.deny(p, p.decision.Reason(), false)
	return p.halt
}

// passesCap denies a call of a file tool that would pass a cap on effects, and reports whether it did. With lands it is
// about to run: its landed has to be called once it has ended, or is not to run.
func (c *calls) passesCap(ctx context.Context, p *pending, lands bool) bool {
	p.landed = func() {}
	if c.keeper.tally == nil || p.call.Access.Kind != tool.KindWrite {
		return false
	}
	list, err := effectsOf(p.call.Access)
	switch {
	case err != nil:
	case lands:
		var landed func()
		if landed, err = c.keeper.tally.land(ctx, list); err == nil {
			p.landed = landed
		}
	default:
		err = c.keeper.tally.admit(ctx, list)
	}
	if err != nil {
		c.deny(p, err.Error(), false)
	}
	return err != nil
}

func (c *calls) deny(p *pending, reason string, nobody bool) {
	text := "Not run: this call was denied."
	status := CallDenied
	if nobody {
		text = "Not run: this call needs approval, and no one can answer (headless run). " +
			"Another way that needs no approval is welcome; report the remaining work."
		status = CallUnanswered
	}
	summary := "denied"
	if reason != "" {
		text, summary = text+" Reason: "+reason, summary+": "+firstLine(reason)
	}
	p.refusal = &reason
	p.end(CallResult{Status: status, Text: text, Summary: summary})
	d := p.denial(reason, nobody)
	d.Rule, d.Code = p.decision.Narrow, p.decision.Cause()
	c.response.Denied = append(c.response.Denied, d)
}

// unanswered denies a call since no one answered its question, or the hook on that question failed.
func (c *calls) unanswered(p *pending, err error, reason string) {
	if !errors.As(err, new(hookError)) {
		c.deny(p, reason, true)
		return
	}
	c.deny(p, err.Error(), false)
	c.response.Denied[len(c.response.Denied)-1].Nobody = true
}

// askAfter asks about a command that has run.
func (c *calls) askAfter(ctx context.Context, p *pending, q Question) (Answer, error) {
	p.asked = true
	p.asks.number++
	p.asks.of = max(p.asks.of, p.asks.number)
	q.Call, q.Dir, q.Number, q.Of = p.call, c.session.opt.Env.Dir, p.asks.number, p.asks.of
	return c.ask(ctx, p, q)
}
