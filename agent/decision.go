package agent

import (
	"cmp"
	"strings"

	"artoo/agent/permission"
	"artoo/conversation"
)

// ruled is what the policy decided on a call, or on its changes, without a question.
func (c *calls) ruled(d decided, kind QuestionKind, yes bool, reasons []permission.Reason) conversation.Decision {
	q := c.cb.masks.shownQuestion(Question{Kind: kind, Call: d.call, Dir: c.session.opt.Env.Dir, Rule: d.decision.Narrow})
	made := q.Decision(Answer{From: FromMode}, nil)
	if yes {
		made.Answer = Yes.String()
	}
	var rules []string
	for _, r := range reasons {
		switch r.Code {
		case permission.HookDenies, permission.HookFailed, permission.HookAllows:
			made.From, made.By = string(FromHook), r.Object
		case permission.RulesAllow:
			for _, part := range d.decision.Parts {
				rules = append(rules, part.Rule)
			}
		default:
			rules = append(rules, r.Rule)
		}
	}
	if made.Rule = joinEach(rules); made.Rule != "" {
		made.From = string(FromRule)
	}
	return made
}

// joinEach joins texts that are not "", each once.
func joinEach(list []string) (joined string) {
	seen := map[string]bool{"": true}
	for _, text := range list {
		if !seen[text] {
			joined += ", " + text
		}
		seen[text] = true
	}
	return strings.TrimPrefix(joined, ", ")
}

// keep writes a decision on a call of this agent, or a sub-agent, to the session.
func (c *calls) keep(d conversation.Decision) error {
	s := c.session
	for s.parent != nil {
		s = s.parent
	}
	d.Rule, d.Narrow = s.masked(d.Rule), s.masked(d.Narrow)
	return s.conv.Decide(d)
}

// decideFinally keeps the decision on a call before the call has an effect. over is the denied call; nil for a yes. A
// call that only reads needs none, and one that was interrupted has none.
func (c *calls) decideFinally(a *approved, over *settled) *settled {
	switch {
	case over != nil && over.refusal == nil, over == nil && a.final.Kind == "" && len(a.decision.Reasons) == 0:
		return over
	case a.final.Kind == "":
		a.final = c.ruled(a.decided, QuestionApproval, over == nil, a.decision.Reasons)
	}
	err := c.keep(a.final)
	if over == nil && err != nil {
		over = a.crashed(err)
	}
	if over != nil {
		over.outcome.Decision, over.stop = a.final, cmp.Or(over.stop, err)
	}
	return over
}
