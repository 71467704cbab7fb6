package permission

import (
	"slices"

	"artoo/tool"
	"artoo/tool/web"
)

// Decide decides whether the call of the named tool may run, and where. It is called
// once for a call, and changes nothing.
func (p *Policy) Decide(name string, access tool.Access) Decision {
	p = p.deciding()
	switch {
	case access.Denied, access.Outside:
		return Decision{}.because(Refuse, Reason{Code: NotGranted, Object: access.Why})
	case access.Kind == tool.KindRun && access.To != "":
		return p.decideInput(name, access)
	case access.Kind == tool.KindRun:
		return p.decideRun(name, access)
	}
	d := p.decideFile(name, access)
	for _, r := range p.allowing() {
		if r.names(name, access.Kind) && r.String() != d.Rule {
			d.Missed = append(d.Missed, MissedRule{r.String(), r.Origin, p.whyNotFile(r, access)})
		}
	}
	return d
}

// decideFile decides over a call on files or hosts.
func (p *Policy) decideFile(name string, access tool.Access) Decision {
	d := Decision{}
	d.Narrow, d.Suggested = p.rulesFor(name, access)
	if r, ok := p.covered(p.DenyRules, name, access, false); ok {
		return Decision{}.by(Refuse, RuleDenies, r)
	}
	if p.Mode == ModePlan && access.Kind != tool.KindRead && access.Kind != tool.KindNone &&
		!(access.Kind == tool.KindServer && access.Reads) {
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	}
	if at := slices.IndexFunc(access.Paths, func(path string) bool { return access.Kind == tool.KindWrite && p.fixed(path) }); at >= 0 {
		return Decision{}.because(Refuse, Reason{Code: FixedHere, Object: below(p.Root, access.Paths[at])})
	}
	if access.MovesSecret != "" {
		return Decision{}.because(Ask, Reason{Code: MovesSecret, Object: access.MovesSecret})
	}
	if access.Changed != "" {
		return Decision{}.because(Ask, Reason{Code: ToolChanged, Object: access.Server})
	}
	asks, asked := p.covered(p.AskRules, name, access, false)
	if asked && asks.Fixed {
		return d.by(Ask, RuleAsks, asks)
	}
	if r, ok := p.covered(p.session, name, access, true); ok {
		return d.by(Run, SessionAllows, r)
	}
	if asked {
		return d.by(Ask, RuleAsks, asks)
	}
	if r, ok := p.covered(p.AllowRules, name, access, true); ok {
		return d.by(Run, RuleAllows, r)
	}
	return p.byMode(d, access)
}

func (p *Policy) byMode(d Decision, access tool.Access) Decision {
	switch access.Kind {
	case tool.KindNone, tool.KindRead:
		return d.because(Run)
	case tool.KindNetwork:
		return d.because(Ask, Reason{Code: OtherHost, Object: web.Own(access.Host)})
	case tool.KindServer:
		return d.because(Ask, Reason{Code: ServerTool, Object: access.Server})
	}
	why := p.guardedWrite(access)
	switch {
	case why != "":
		return d.because(Ask, Reason{Code: AlwaysAsked, Object: why})
	case p.NoProject:
		return d.because(Ask, Reason{Code: NoProject})
	case p.Confinement.Layered && p.writesFreely():
		return d.because(Run, Reason{Code: OnLayer})
	case p.writesFreely():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	}
	return d.because(Ask)
}

// decideRun decides over a shell line. On a layer it may run unless it leaves the sandbox or runs own
// programs: its effects are judged afterwards.
func (p *Policy) decideRun(name string, access tool.Access) Decision {
	l := p.parse(name, access)
	d := p.decideLine(p.place(l, access), l)
	if r, at := p.changedScript(l); d.Verdict == Ask && at != "" {
		d.Reasons = append([]Reason{{Code: ScriptChanged, Rule: r, Object: at}}, d.Reasons...)
	}
	for _, s := range l.parts {
		known := slices.ContainsFunc(d.Parts, func(known Part) bool { return known.Text == s.String() })
		if s.Certain || s.denies != nil && !known {
			d.Parts = append(d.Parts, d.part(s, l.tool, p.Mode))
		}
	}
	return d
}

// decideLine decides over a line that runs in the decision's place.
func (p *Policy) decideLine(d Decision, l parsed) Decision {
	rules, session := p.allowing(), p.SessionRules()
	if p.Confinement.Sandbox && d.Place == PlaceHost {
		inside := func(r Rule) bool { return !r.Outside } // they let nothing run outside
		rules, session = slices.DeleteFunc(rules, inside), slices.DeleteFunc(session, inside)
	}
	allowed := p.findAllow(l, rules)
	if l.denies != nil {
		return Decision{}.by(Refuse, RuleDenies, *l.denies)
	}
	if p.Confinement.Inside() && d.Place == PlaceHost {
		return Decision{}.because(Refuse, append([]Reason{{Code: NothingOutside}}, d.Reasons...)...)
	}
	if p.Mode == ModePlan && !l.reads && (d.Place != PlaceLayer || l.asks != nil || l.mayDeny != nil) {
		if tried := p.byPlace(d, l); tried.Has(TriedFirst) && l.asks == nil && l.mayDeny == nil {
			return tried
		}
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	}
	switch {
	case l.asks != nil && l.asks.Fixed:
		return d.by(Ask, RuleAsks, *l.asks)
	case l.mayDeny != nil && l.mayDeny.Fixed:
		return d.by(Ask, RuleMayDeny, *l.mayDeny)
	}
	if r, ok := exactly(session, l, p.Root); ok {
		d.Covers = Content
		return d.by(Run, SessionAllows, r)
	}
	if l.asks != nil {
		return d.by(Ask, RuleAsks, *l.asks)
	}
	if r, ok := exactly(rules, l, p.Root); ok {
		d.Covers = Content
		return d.by(Run, RuleAllows, r)
	}
	if l.mayDeny != nil {
		return d.by(Ask, RuleMayDeny, *l.mayDeny)
	}
	if l.reads && (d.Place != PlaceHost || !p.Confinement.Sandbox) {
		d.Rule = Rule{Tool: l.tool, Arg: ReadGroup, HasArg: true}.String()
		return d.because(Run, Reason{Code: ReadsOnly})
	}
	var always []Reason
	var keep []string
	if unjudged := d.Place == PlaceHost || !p.Confinement.Layer || d.Place != PlaceLayer && l.problem != ""; unjudged {
		if always, keep = p.alwaysAsked(l); always != nil && (keep == nil || l.problem != "") {
			d.Suggested = d.Narrow
			return d.because(Ask, append(always, d.Reasons...)...)
		}
	}
	if l.problem != "" {
		return p.decideProblem(d, l, rules)
	}
	before := d.Place
	if allowed {
		d.Covers = Content
		d = d.because(Run, Reason{Code: RulesAllow})
	} else {
		d = p.byPlace(d, l)
	}
	if always != nil && d.Verdict == Run { // the journal keeps the files that it could lose
		if !d.Has(TriedFirst) {
			d.Keep = keep
		}
		d.Verdict, d.Place, d.Reasons = Ask, before, nil
	}
	d.Reasons = append(always, d.Reasons...)
	return d
}

// decideInput decides over text typed to a background command, which may be a shell: rules for some
// commands do not allow it, but deny and ask rules hold.
func (p *Policy) decideInput(name string, access tool.Access) Decision {
	d := Decision{Narrow: name, Suggested: name}
	if r, ok := p.covered(p.DenyRules, name, tool.Access{Kind: tool.KindNone}, false); ok {
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

// Hosts reports whether the present rules let calls of a tool reach a further host unasked, and
// whether one allows it at a private address. The func may be called from any goroutine.
func (p *Policy) Hosts(name string) func(host string) (unasked, own bool) {
	rules := &Policy{Mode: p.Mode, Root: p.Root, AllowRules: slices.Clone(p.AllowRules), AskRules: slices.Clone(p.AskRules),
		DenyRules: slices.Clone(p.DenyRules), session: p.SessionRules()}
	return func(host string) (unasked, own bool) {
		d := rules.Decide(name, tool.Access{Kind: tool.KindNetwork, Host: host})
		own = d.Verdict != Refuse && slices.ContainsFunc(rules.allowing(), func(r Rule) bool {
			return r.names(name, tool.KindNetwork) && r.namesServer(host)
		})
		return d.Verdict == Run, own
	}
}
