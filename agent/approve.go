package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"artoo/agent/permission"
)

// asker puts the questions of one reply to the user, one by one, numbered.
type asker struct {
	*turn
	number, of int
}

// ask asks until there is a clear answer. It returns the error that ends the
// turn: an interrupt, or the user's wish.
func (a *asker) ask(ctx context.Context, p *pending) error {
	p.asked = true
	a.number++
	a.of = max(a.of, a.number)
	for {
		decision := p.decision
		answer, err := a.cb.Ask(ctx, Question{
			Kind: QuestionApproval, Call: p.call, Dir: a.opt.Env.Dir, Reason: decision.Reason(), Reasons: decision.Reasons, Own: decision.Own,
			Place: decision.Place, Network: a.opt.Policy.Confinement.Network,
			Rule: decision.Narrow, Suggested: decision.Suggested, Number: a.number, Of: a.of,
			Covers: func(rule string) error {
				_, err := a.opt.Policy.Covers(rule, p.tool.Name, p.call.Access)
				return err
			},
		})
		switch {
		case context.Cause(ctx) != nil:
			p.interrupted(context.Cause(ctx))
			return context.Cause(ctx)
		case errors.Is(err, ErrNobody):
			a.deny(p, decision.Reason(), true)
			return nil
		case err != nil:
			a.deny(p, err.Error(), false)
			return nil
		}
		if answer.Input != nil {
			if err = a.replace(ctx, p, answer.Input); err != nil {
				a.notice(NoticeWarning, err.Error())
			}
			continue // what was edited is not approved yet, whatever a rule says of it
		}
		if ok, err := a.take(p, answer); ok {
			return err
		}
	}
}

// replace puts the user's version of the input in the call's place: checked,
// planned and decided as if the model had sent it. One that may not run leaves
// the call as it was, and is the error.
func (a *asker) replace(ctx context.Context, p *pending, input []byte) error {
	before, decision, reads := p.call, p.decision, p.reads
	p.call.Input = json.RawMessage(input)
	a.plan(ctx, p)
	var err error
	switch {
	case p.final:
		err = errors.New("the edited call cannot run: " + a.masked(p.outcome.Text))
	case p.decision.Verdict == permission.Refuse:
		err = errors.New("the edited call is denied: " + p.decision.Reason())
	default:
		p.edited = "The user changed the input of this call before it ran, to: " + string(input)
		return nil
	}
	p.final, p.outcome, p.call, p.decision, p.reads = false, CallResult{}, before, decision, reads
	return err
}

// take acts on an answer. ok is false when it must be asked again.
func (a *asker) take(p *pending, answer Answer) (ok bool, err error) {
	switch answer.Verdict {
	case Yes:
		return true, nil
	case YesForSession, YesForever:
		return a.remember(p, answer), nil
	case StopTurn:
		a.deny(p, "the user stopped the turn", false)
		return true, ErrStopped
	}
	a.deny(p, answer.Reason, false)
	return true, nil
}

// remember adds the rule of a lasting yes. A rule that would not allow this
// very call is a slip of the pen: it is said, and asked again.
func (a *asker) remember(p *pending, answer Answer) bool {
	if answer.Rule == "" && p.decision.Has(permission.OwnPrograms) {
		a.trustPrograms(answer.Verdict == YesForever)
		return true
	}
	rule := cmp.Or(answer.Rule, p.decision.Narrow)
	if err := a.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
		a.notice(NoticeWarning, err.Error())
		return false
	}
	if r, err := permission.ParseRule(rule); err == nil && r.Remark() != "" {
		a.notice(NoticeInfo, r.String()+" also covers "+r.Remark())
	}
	if answer.Verdict != YesForever {
		return true
	}
	if a.parent != nil { // A permanent rule also applies to the parent agent.
		if err := a.parent.opt.Policy.AllowInSession(rule, p.tool.Name, p.call.Access); err != nil {
			a.notice(NoticeWarning, err.Error())
			return true
		}
	}
	if a.opt.SaveRule == nil {
		a.notice(NoticeWarning, "rules cannot be saved here; "+rule+" holds for this session")
		return true
	}
	if err := a.opt.SaveRule(rule); err != nil {
		a.notice(NoticeWarning, "the rule holds for this session only: "+err.Error())
		return true
	}
	a.opt.Policy.Keep(rule)
	if a.parent != nil {
		a.parent.opt.Policy.Keep(rule)
	}
	return true
}

// trustPrograms lets the project's own programs run in the sandbox without a question,
// for this session or permanently.
func (a *asker) trustPrograms(forever bool) {
	for of := a.Agent; of != nil; {
		of.opt.Policy.TrustsPrograms = true
		if of.parent == nil || !forever {
			break
		}
		of = of.parent.Agent
	}
	switch {
	case !forever:
	case a.opt.TrustPrograms == nil:
		a.notice(NoticeWarning, "trust cannot be saved here; it holds for this session")
	default:
		if err := a.opt.TrustPrograms(); err != nil {
			a.notice(NoticeWarning, "the project is trusted for this session only: "+err.Error())
		}
	}
}
