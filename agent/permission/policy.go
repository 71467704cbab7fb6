// Package permission decides which calls of tools run, and where. Policy.Decide has the rules
// before a call, in the order in which they count: for files and hosts, for shell lines, for
// text typed to a running command. Judge has those for the effects of a line on a layer.
package permission

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/web"
)

// Policy decides calls from the mode and the rules: deny over ask over allow, except that a permission of
// this session beats an ask rule. It changes nothing. It is not safe for concurrent use.
type Policy struct {
	Mode Mode
	// NoProject means that there is no project: "/", the home directory, or root
	// outside a container. Every write and run is asked then.
	NoProject bool
	Root      string // the project root, absolute
	Dir       string // the working directory, absolute; "" is Root
	// Shell runs the lines, Confinement can hold them.
	Shell       line.Shell
	Confinement Confinement
	// AllowRules, AskRules and DenyRules are the user's.
	AllowRules, AskRules, DenyRules []Rule
	World
	// TrustsPrograms means that the project's own programs may run in the sandbox
	// without a question: the user trusts the project for it, or said so in this session.
	TrustsPrograms bool
	Ceiling

	session []Rule
	kept    map[string][]string      // changes on layers that were approved for lines in this session
	guarded func(path string) string // why a file is guarded; set during one decision
}

// deciding is the policy for one decision, which looks at git's configuration and for denied
// files once.
func (p *Policy) deciding() *Policy {
	own := *p
	own.guarded = p.Guard.once()
	if own.Files != nil {
		own.denied = sync.OnceValues(own.Files.Denied)
	}
	return &own
}

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

// byPlace decides over a line that no rule covers.
func (p *Policy) byPlace(d Decision, l parsed) Decision {
	if r, ok := readGroup(p.DenyRules, l.tool); ok {
		return d.because(Ask, Reason{Code: ReadingDenied, Rule: r.String()})
	}
	switch {
	case p.Confinement.Inside() && d.Place == PlaceHost: // the rights, which come from no line
		return d.because(Refuse, Reason{Code: NothingOutside})
	case p.NoProject:
		return d.because(Ask, Reason{Code: NoProject})
	case d.Place == PlaceLayer && len(d.Own) > 0 && !p.TrustsPrograms && p.Mode != ModeAuto:
		return d.because(Ask, Reason{Code: OwnPrograms, Object: strings.Join(d.Own, ", ")})
	case d.Place == PlaceLayer:
		return d.because(Run, Reason{Code: OnLayer})
	case (d.Place == PlaceBackground || d.Place == PlaceSandbox) && p.trustAnswers():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	case d.Place == PlaceBackground:
		return d.because(Ask, Reason{Code: GoesOn})
	case d.Place == PlaceSandbox && len(d.Own) == 0 && p.holds().First:
		d.Place = PlaceReadOnly
		return d.because(Run, Reason{Code: TriedFirst})
	case len(d.Reasons) > 0: // it leaves the sandbox
		d.Verdict = Ask
		return d
	}
	why := ""
	for _, s := range l.rest {
		why = cmp.Or(why, s.why)
	}
	switch can := p.holds(); {
	case len(d.Own) > 0:
		why = "it runs the project's own programs: " + strings.Join(d.Own, ", ")
	case why == "" && p.Confinement.First && !can.First:
		why = "commands here could read denied files"
	}
	return d.because(Ask, Reason{Code: MoreThanReading, Object: why})
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
