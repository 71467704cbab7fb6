package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
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
	case p.NoProject != "":
		return d.because(Ask, Reason{Code: NoProject, Object: p.NoProject})
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

// Opinion is that of the hooks before a call. The zero value is none.
type Opinion struct {
	Verdict Verdict // "" for no opinion
	Failed  bool    // The verdict is Refuse because a hook failed.
	// Object names the hook, with its reason or its failure.
	Object string
}

// firm are the codes of questions that a hook's allow does not answer. It counts as a rule that allows every call, and
// such a rule lets no line leave the sandbox.
var firm = []Code{RuleAsks, RuleMayDeny, AlwaysAsked, MovesSecret, NotKept, ToolChanged, Outside}

// Heeding is the decision with the hooks' opinion of the call. Deny rules and the mode plan stand above
// a hook's deny; then come ask rules and calls that every mode asks about, a hook's ask, a hook's allow,
// allow rules and the mode. The user's permission in this session beats every ask.
func (d Decision) Heeding(o Opinion, mode Mode) Decision {
	code := map[Verdict]Code{Refuse: HookDenies, Ask: HookAsks, Run: HookAllows}[o.Verdict]
	if o.Failed {
		code = HookFailed
	}
	reason := Reason{Code: code, Object: o.Object}
	asks := d.Verdict == Ask && slices.ContainsFunc(d.Reasons, func(r Reason) bool { return slices.Contains(firm, r.Code) })
	switch {
	case o.Verdict == "" || d.Verdict == Refuse:
	case o.Verdict == Refuse:
		return Decision{}.because(Refuse, reason)
	case o.Verdict == Ask && !d.Has(SessionAllows):
		d.Keep = nil
		return d.because(Ask, append([]Reason{reason}, d.Reasons...)...)
	case o.Verdict == Run && mode != ModePlan && !asks:
		d.Covers = max(d.Covers, Content)
		if d.Has(TriedFirst) {
			d.Place, d.Reasons = PlaceSandbox, nil
		}
		return d.because(Run, append([]Reason{reason}, d.Reasons...)...)
	}
	return d
}

// Concerns reports whether one of the rules speaks, or may speak, of a call, as a deny rule would.
// No rules speak of every call.
func (p *Policy) Concerns(rules []Rule, name string, access tool.Access) bool {
	if len(rules) == 0 {
		return true
	}
	own := p.deciding()
	own.DenyRules = rules
	if access.Kind != tool.KindRun {
		_, speaks := own.covered(rules, name, access, false)
		return speaks
	}
	if _, speaks := own.covered(rules, name, tool.Access{Kind: tool.KindNone}, false); speaks {
		return true
	}
	l := own.parse("bash", access)
	return l.denies != nil || l.mayDeny != nil ||
		l.problem != "" && slices.ContainsFunc(rules, func(r Rule) bool { return r.namesWidely("bash", tool.KindRun) })
}

func (p *Policy) parse(name string, access tool.Access) parsed {
	l := parsed{tool: name, text: trimLine(access.Command), dir: access.Dir}
	read := line.Parse(access.Command, access.Dir, p.Shell)
	l.problem = read.Problem
	_, denied := readGroup(p.DenyRules, name)
	for _, c := range read.Commands {
		s := &part{Command: c}
		if l.parts = append(l.parts, s); c.Certain {
			s.reads, s.why = p.inspector().check(c)
			row, _ := readOnlyRow(c.Name())
			s.unasked = s.reads && p.NoProject == "" && (!denied || row.has(pathless) || c.Name() == "cd")
			l.sure = append(l.sure, s)
			if !s.unasked {
				l.rest = append(l.rest, s)
			}
		}
	}
	l.reads = l.problem == "" && len(l.sure) > 0 && len(l.rest) == 0
	p.findDeny(&l)
	p.findAsk(&l)
	return l
}

// findDeny notes which rules deny or may deny the line, and which of its commands.
func (p *Policy) findDeny(l *parsed) {
	for _, r := range p.DenyRules {
		if r.namesWidely(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text)) {
			l.denies = first(l.denies, r)
		}
		for _, s := range l.parts {
			switch hit, unsure := p.speaksOf(r, l.tool, s.Command); {
			case hit:
				s.denies, l.denies = first(s.denies, r), first(l.denies, r)
			case unsure:
				s.mayDeny, l.mayDeny = first(s.mayDeny, r), first(l.mayDeny, r)
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, "the deciding word is not known in advance"})
			}
		}
	}
}

// findAsk notes which rules ask about the line and its commands: those that speak, or may
// speak, of a command which the user did not allow in this session.
func (p *Policy) findAsk(l *parsed) {
	for _, r := range p.AskRules {
		all := r.names(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text) || r.Arg == ReadGroup && l.reads)
		if all && len(l.parts) == 0 {
			l.asks = first(l.asks, r)
		}
		for _, s := range l.parts {
			hit, unsure := p.speaksOf(r, l.tool, s.Command)
			if (all || hit || unsure) && (r.Fixed || !p.commandCovered(p.session, l.tool, s.Command)) {
				s.asks, l.asks = first(s.asks, r), first(l.asks, r)
			}
		}
	}
}

// first is a rule that was found before, or else the one that is found now. One of the system's
// policy comes first.
func first(before *Rule, now Rule) *Rule {
	if before != nil && (before.Fixed || !now.Fixed) {
		return before
	}
	return &now
}

// findAllow notes which rules allow commands, and reports whether all that need one have one.
func (p *Policy) findAllow(l parsed, rules []Rule) (all bool) {
	all = l.problem == "" && len(l.rest) > 0
	for _, s := range l.parts {
		for _, r := range rules {
			yes, why := p.coversCommand(r, l.tool, s.Command)
			if yes {
				s.allows = &r
				break
			}
			if why != "" {
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, why})
			}
		}
		all = all && (!s.Certain || s.unasked || s.allows != nil)
	}
	return all
}

// part is the part of the decision on one command of a line.
func (d Decision) part(s *part, name string, mode Mode) Part {
	made := Part{Text: s.String(), Missed: s.missed}
	is := func(verdict Verdict, rule *Rule, why string) Part {
		made.Verdict, made.Why = verdict, why
		if rule != nil {
			made.Rule, made.Origin = rule.String(), rule.Origin
		}
		return made
	}
	switch {
	case s.denies != nil:
		return is(Refuse, s.denies, "a deny rule speaks of it")
	case s.unasked:
		return is(Run, &Rule{Tool: name, Arg: ReadGroup, HasArg: true}, "it only reads")
	case mode == ModePlan && d.Verdict != Run:
		return is(Refuse, nil, "plan mode only reads, whatever the rules")
	case s.asks != nil && d.Verdict != Run:
		return is(Ask, s.asks, "an ask rule speaks of it")
	case s.destroys != "" && d.Verdict != Run:
		return is(Ask, nil, Reason{Code: AlwaysAsked, Object: s.destroys}.String())
	case s.allows != nil:
		return is(Run, s.allows, "an allow rule covers it")
	}
	why := "no rule covers it"
	if s.why != "" {
		why += ", and it does more than read: " + s.why
	}
	if d.Verdict == Run { // the whole line may run
		return is(Run, nil, strings.Trim(why+"; "+d.Reason(), "; "))
	}
	return is(Ask, nil, why)
}
