package permission

import (
	"cmp"
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
		d.Parts = append(d.Parts, d.part(s, p.Mode))
	}
	d.Suggested, d.Reads = d.Narrow, l.reads
	return d
}

// place decides where a line runs, and names the project's own programs that it runs there.
func (p *Policy) place(l parsed, access tool.Access) (d Decision) {
	can := p.Confinement
	d.Narrow = Rule{Tool: l.tool, Arg: literal(l.text), HasArg: true}.String()
	d.Git = slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" })
	if !can.Sandbox {
		return d
	}
	_, ruled := p.allowsOutside(l, p.allowing())
	d.Needs, d.Reasons = p.leaves(l, access)
	switch {
	case len(d.Reasons) > 0, ruled && !can.Inside():
		d.Narrow = ""
		return d
	case access.Background && !can.Capped:
		d.Place = PlaceBackground
		return d
	case can.Layer:
		d.Place = PlaceLayer
	case l.reads:
		d.Place = PlaceReadOnly
	default:
		d.Place = PlaceSandbox
	}
	d.Own, d.Builds = p.ownPrograms(l)
	return d
}

// byPlace decides over a line inside that no rule covers. Without layers one rule holds: a line that only reads runs,
// every other asks, and mode and trust answer for it only where the sandbox holds writes entry by entry, or where the
// user said that the machine is the sandbox.
func (p *Policy) byPlace(d Decision, l parsed) Decision {
	can, free := p.Confinement, p.trusts() && p.writesFreely()
	switch {
	case p.NoProject != "":
		return d.because(Ask, Reason{Code: NoProject, Object: p.NoProject})
	case d.Place == PlaceLayer && len(d.Own) > 0 && !p.trusts():
		return d.because(Ask, Reason{Code: OwnPrograms, Object: strings.Join(d.Own, ", ")})
	case d.Place == PlaceLayer:
		return d.because(Run, Reason{Code: OnLayer})
	case l.reads && d.Place != PlaceBackground:
		return d.because(Run, Reason{Code: ReadsOnly})
	case d.Place == PlaceBackground && free, d.Place == PlaceSandbox && free && can.ByEntry, can.External && p.writesFreely():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	case d.Place == PlaceBackground:
		return d.because(Ask, Reason{Code: GoesOn})
	case len(d.Own) > 0:
		return d.because(Ask, Reason{Code: MoreThanReading, Object: "it runs the project's own programs: " + strings.Join(d.Own, ", ")})
	}
	why := ""
	for _, s := range l.parts {
		why = cmp.Or(why, s.why)
	}
	if can.External {
		why = cmp.Or(why, "the machine is the sandbox, and a yes covers what it does")
	}
	return d.because(Ask, Reason{Code: MoreThanReading, Object: why})
}

// trusts reports whether the project's own programs run in the sandbox unasked.
func (p *Policy) trusts() bool { return p.TrustsPrograms || p.Mode == ModeAuto }

// decideLine decides over a line that runs in the decision's place.
func (p *Policy) decideLine(d Decision, l parsed) Decision {
	leaves, allowed := d.Place == PlaceHost && p.Confinement.Sandbox, p.findAllow(l)
	inside := d.Place == PlaceLayer || l.reads && !leaves && d.Place != PlaceBackground
	switch {
	case l.denies != nil:
		return Decision{}.by(Refuse, RuleDenies, *l.denies)
	case leaves && p.Confinement.Inside():
		return Decision{}.because(Refuse, append([]Reason{{Code: NothingOutside}}, d.Reasons...)...)
	case p.Mode == ModePlan && (l.asks != nil || l.mayDeny != nil || !inside):
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	case l.asks != nil && l.asks.Fixed:
		return d.by(Ask, RuleAsks, *l.asks)
	case l.mayDeny != nil && l.mayDeny.Fixed:
		return d.by(Ask, RuleMayDeny, *l.mayDeny)
	}
	if leaves {
		return p.decideOutside(d, l)
	}
	if r, ok := exactly(p.session, l, p.Root); ok {
		return d.by(Run, SessionAllows, r).covering(Content)
	}
	if l.asks != nil {
		return d.by(Ask, RuleAsks, *l.asks)
	}
	if r, ok := exactly(p.AllowRules, l, p.Root); ok {
		return d.by(Run, RuleAllows, r).covering(Content)
	}
	if l.mayDeny != nil {
		return d.by(Ask, RuleMayDeny, *l.mayDeny)
	}
	var always []Reason
	var keep []string
	if !p.Confinement.Layer {
		always, keep = p.alwaysAsked(l)
	}
	switch r, every := find(p.allowing(), func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }); {
	case always != nil && keep == nil:
		return d.because(Ask, always...)
	case allowed:
		d = d.because(Run, Reason{Code: RulesAllow}).covering(Content)
	case every && !p.hides(l):
		d = d.by(Run, RuleAllows, r).covering(Content)
	case l.problem != "" && (d.Place != PlaceLayer || p.hides(l)):
		return d.because(Ask, Reason{Code: NotParsed, Object: l.problem})
	default:
		d = p.byPlace(d, l)
	}
	if always != nil && d.Verdict == Run {
		d.Verdict, d.Keep, d.Reasons = Ask, keep, always
	}
	return d
}

// hides reports whether a line that the shell may take in another way could hide something that a rule refuses or asks
// about.
func (p *Policy) hides(l parsed) bool {
	narrows := func(r Rule) bool { return r.HasArg && r.names(l.tool, tool.KindRun) }
	return l.problem != "" && (slices.ContainsFunc(p.DenyRules, narrows) || slices.ContainsFunc(p.AskRules, narrows))
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
	if d.Place == PlaceBackground && p.trusts() && p.writesFreely() {
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
	l.problem, l.reads = read.Problem, read.Problem == "" && len(read.Commands) > 0
	for _, c := range read.Commands {
		s := &part{Command: c}
		s.reads, s.why = p.inspector().check(c)
		l.parts, l.reads = append(l.parts, s), l.reads && s.reads
	}
	p.findDeny(&l)
	p.findAsk(&l)
	return l
}

// findDeny notes which rules deny or may deny the line, and which of its commands. A line whose commands are not all
// seen counts as if it ran whatever words it holds.
func (p *Policy) findDeny(l *parsed) {
	guesses := l.guesses()
	for _, r := range p.DenyRules {
		if r.namesWidely(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text)) {
			l.denies = first(l.denies, r)
		}
		if slices.ContainsFunc(guesses, func(c line.Command) bool { hit, _ := p.speaksOf(r, l.tool, c); return hit }) {
			l.denies = first(l.denies, r)
		}
		for _, s := range l.parts {
			switch hit, unsure := p.speaksOf(r, l.tool, s.Command); {
			case hit:
				s.denies, l.denies = first(s.denies, r), first(l.denies, r)
			case unsure:
				l.mayDeny = first(l.mayDeny, r)
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, "the deciding word is not known in advance"})
			}
		}
	}
}

// findAsk notes which rules ask about the line and its commands: those that speak, or may
// speak, of a command which the user did not allow in this session.
func (p *Policy) findAsk(l *parsed) {
	for _, r := range p.AskRules {
		all := r.names(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text))
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

// findAllow notes which rules allow commands, and reports whether all that do more than read have one.
func (p *Policy) findAllow(l parsed) (all bool) {
	all = l.problem == "" && !l.reads && len(l.parts) > 0
	for _, s := range l.parts {
		for _, r := range p.allowing() {
			yes, why := p.coversCommand(r, l.tool, s.Command)
			if yes {
				s.allows = &r
				break
			}
			if why != "" {
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, why})
			}
		}
		all = all && (s.reads && p.NoProject == "" || s.allows != nil)
	}
	return all
}

// part is the part of the decision on one simple command of a line.
func (d Decision) part(s *part, mode Mode) Part {
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
	case s.reads:
		return is(Run, nil, "it only reads")
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
