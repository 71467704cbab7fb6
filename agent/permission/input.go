package permission

import "artoo/tool"

// decideInput decides over what is typed to a background command, as the command itself
// was decided: it may be a shell, so a rule for some commands says nothing of it. A
// rule that denies or asks about a command in the text holds.
func (p *Policy) decideInput(name string, access tool.Access) Decision {
	d := Decision{Narrow: name, Suggested: name}
	if r, ok := p.project().covered(p.DenyRules, name, tool.Access{Kind: tool.KindNone}, false); ok {
		return Decision{}.by(Refuse, RuleDenies, r)
	}
	l := p.parse("bash", access)
	if l.denies != nil {
		return Decision{}.by(Refuse, RuleDenies, *l.denies)
	}
	if p.Mode == ModePlan {
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	}
	if l.asks != nil {
		return d.by(Ask, RuleAsks, *l.asks)
	}
	if p.Confinement.Sandbox && access.ToConfined {
		d.Place = PlaceBackground
	} else if always, _ := p.alwaysAsked(l); always != nil {
		return d.because(Ask, always...)
	}
	covers := func(r Rule) bool { return !r.HasArg && (r.names(name, tool.KindRun) || r.names("bash", tool.KindRun)) }
	if r, ok := find(p.allowing(), covers); ok {
		return d.by(Run, RuleAllows, r)
	}
	if d.Place == PlaceBackground && p.trustAnswers() {
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	}
	return d.because(Ask, Reason{Code: TypedInput})
}
