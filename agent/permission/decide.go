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
	return p.decideFile(name, access)
}

// Yes notes the user's yes to a call.
func (p *Policy) Yes(d Decision) {
	if d.Has(FilesChanged) {
		p.Seen.renew(d.Rule)
	}
}

// decideFile decides over a call on files or hosts.
func (p *Policy) decideFile(name string, access tool.Access) Decision {
	reads := access.Kind == tool.KindRead || access.Kind == tool.KindNone || access.Kind == tool.KindServer &&
		access.Reads
	d := Decision{}
	d.Narrow, d.Suggested = p.rulesFor(name, access)
	d, decided := d.byRules(spoken{
		denies: p.covered(p.DenyRules, name, access, false), asks: p.covered(p.AskRules, name, access, false),
		session: p.covered(p.session, name, access, true), allows: p.covered(p.AllowRules, name, access, true),
		plan: p.Mode == ModePlan && !reads,
	})
	at := slices.IndexFunc(access.Paths, func(path string) bool {
		return access.Kind == tool.KindWrite &&
			p.fixed(path)
	})
	switch {
	case d.Verdict == Refuse:
		return d
	case at >= 0:
		return Decision{}.because(Refuse, Reason{Code: FixedHere, Object: below(p.Root, access.Paths[at])})
	case access.MovesSecret != "":
		return Decision{}.because(Ask, Reason{Code: MovesSecret, Object: access.MovesSecret})
	case access.Changed != "":
		return Decision{}.because(Ask, Reason{Code: ToolChanged, Object: access.Server})
	case decided:
		return d
	}
	return p.byMode(d, access)
}

func (p *Policy) byMode(d Decision, access tool.Access) Decision {
	switch why := p.guardedWrite(access); {
	case access.Kind == tool.KindNone, access.Kind == tool.KindRead:
		return d.because(Run)
	case access.Kind == tool.KindNetwork:
		return d.because(Ask, Reason{Code: OtherHost, Object: web.Own(access.Host)})
	case access.Kind == tool.KindServer:
		return d.because(Ask, Reason{Code: ServerTool, Object: access.Server})
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
	d, hosts := p.place(l, access)
	d = p.decideHosts(p.decideLine(d, l, hosts), l, hosts)
	if r, at := p.changedScript(l); d.Verdict == Ask && at != "" {
		d.Reasons = append([]Reason{{Code: ScriptChanged, Rule: r, Object: at}}, d.Reasons...)
	}
	for _, s := range l.parts {
		d.Parts = append(d.Parts, d.part(s, p.Mode))
	}
	d.Suggested, d.Reads = d.Narrow, l.reads
	if len(hosts.lacks) > 0 && d.Verdict == Ask {
		d.Suggested = hosts.widerHosts()
	}
	return d
}

// place decides where a line runs, names the project's own programs that it runs there, and finds the hosts that are open
// to it.
func (p *Policy) place(l parsed, access tool.Access) (d Decision, hosts opened) {
	can := p.Confinement
	d.Narrow = Rule{Tool: l.tool, Arg: literal(l.text), HasArg: true}.String()
	d.Git = slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" })
	if !can.Sandbox {
		return d, hosts
	}
	var needs []hostNeed
	d.Needs, d.Reasons, needs = p.leaves(l, access)
	switch {
	case len(d.Reasons) > 0, !can.Inside() && p.allowsOutside(l, p.allowing()) != nil:
		d.Narrow = ""
		return d, hosts
	case access.Background && !can.Capped:
		d.Place = PlaceBackground
		return d, hosts
	case can.Layer:
		d.Place = PlaceLayer
		if hosts = p.opens(needs, l); can.Proxy {
			d.Hosts, d.Files, d.Installs = hosts.hosts, hosts.files, installs(l)
		}
	case l.reads:
		d.Place = PlaceReadOnly
	default:
		d.Place = PlaceSandbox
	}
	d.Own, d.Builds = p.ownPrograms(l)
	return d, hosts
}

// byPlace decides over a line inside that no rule covers. Without layers one rule holds: a line that only reads runs,
// every other asks, and mode and trust answer for it only where the sandbox holds writes entry by entry, or where the
// user said that the machine is the sandbox.
func (p *Policy) byPlace(d Decision, l parsed, hosts opened) Decision {
	can, free := p.Confinement, p.trusts() && p.writesFreely()
	switch {
	case p.NoProject != "":
		return d.because(Ask, Reason{Code: NoProject, Object: p.NoProject})
	case d.Place == PlaceLayer && len(d.Own) > 0 && !p.trusts() && !hosts.exact:
		return d.because(Ask, Reason{Code: OwnPrograms, Object: strings.Join(d.Own, ", ")})
	case d.Place == PlaceLayer:
		return d.because(Run, Reason{Code: OnLayer})
	case l.reads && d.Place != PlaceBackground:
		return d.because(Run, Reason{Code: ReadsOnly})
	case d.Place == PlaceBackground && free, d.Place == PlaceSandbox && free && can.ByEntry, can.External &&
		p.writesFreely():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	case d.Place == PlaceBackground:
		return d.because(Ask, Reason{Code: GoesOn})
	case len(d.Own) > 0:
		return d.because(Ask, Reason{Code: MoreThanReading,
			Object: "this runs the project's own programs: " + strings.Join(d.Own, ", ")})
	}
	why := ""
	for _, s := range l.parts {
		why = cmp.Or(why, s.why)
	}
	if can.External {
		why = cmp.Or(why, "this machine is the sandbox, so a yes covers all its effects")
	}
	return d.because(Ask, Reason{Code: MoreThanReading, Object: why})
}

// trusts reports whether the project's own programs run in the sandbox unasked.
func (p *Policy) trusts() bool { return p.TrustsPrograms || p.Mode == ModeAuto }

// decideLine decides over a line that runs in the decision's place.
func (p *Policy) decideLine(d Decision, l parsed, hosts opened) Decision {
	leaves, allowed, outside := d.Place == PlaceHost && p.Confinement.Sandbox, p.findAllow(l), d.Reasons
	if leaves && p.Confinement.Inside() && l.denies == nil {
		return Decision{}.because(Refuse, append([]Reason{{Code: NothingOutside}}, outside...)...)
	}
	said := l.spoken
	said.denies = cmp.Or(said.denies, hosts.denies)
	said.session, said.allows = exactly(p.session, l, p.Root), exactly(p.AllowRules, l, p.Root)
	if leaves {
		said.session, said.allows = p.allowsOutside(l, p.session), p.allowsOutside(l, p.AllowRules)
		if said.mayDeny != nil {
			said.allows = nil
		}
		if p.closed(l) {
			d.Narrow = Rule{Tool: l.tool, Arg: literal(l.text), HasArg: true, Outside: true}.String()
		}
	}
	inside := d.Place == PlaceLayer || l.reads && !leaves && d.Place != PlaceBackground
	said.plan = p.Mode == ModePlan && (said.asks != nil || said.mayDeny != nil || !inside || len(hosts.hosts) > 0)
	var always []Reason
	var keep []string
	if leaves || !p.Confinement.Layer {
		always, keep = p.alwaysAsked(l)
	}
	every := findRule(p.allowing(), func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) })
	d, decided := d.byRules(said)
	switch r := cmp.Or(said.session, said.allows); {
	case d.Verdict == Ask:
		return d.because(Ask, append(d.Reasons, outside...)...)
	case d.Verdict == Refuse, decided && !leaves:
		return d
	case leaves && !decided, always != nil && keep == nil && (r == nil || !r.is(l.text)):
		return d.because(Ask, append(always, outside...)...)
	case leaves && !p.closed(l) && p.Seen.stale(r.String(), r.Origin):
		return d.because(Ask, append([]Reason{{Code: FilesChanged, Rule: r.String()}}, append(always,
			outside...)...)...)
	case leaves && r.is(l.text):
		return d
	case leaves:
	case allowed:
		d = d.because(Run, Reason{Code: RulesAllow}).covering(Content)
	case every != nil:
		d = d.by(Run, RuleAllows, *every).covering(Content)
	case l.problem != "" && d.Place != PlaceLayer:
		return d.because(Ask, Reason{Code: NotParsed, Object: l.problem})
	default:
		d = p.byPlace(d, l, hosts)
	}
	if always != nil && d.Verdict == Run {
		d.Verdict, d.Keep, d.Reasons = Ask, keep, always
	}
	return d
}

// decideInput decides over text typed to a background command, which may be a shell: rules for some
// commands do not allow it, but deny and ask rules hold.
func (p *Policy) decideInput(name string, access tool.Access) Decision {
	l := p.parse("bash", access)
	covers := func(r Rule) bool { return !r.HasArg && (r.names(name, tool.KindRun) || r.names("bash", tool.KindRun)) }
	said := l.spoken
	said.denies, said.plan = cmp.Or(p.covered(p.DenyRules, name, tool.Access{Kind: tool.KindNone}, false),
		l.denies), p.Mode == ModePlan
	said.allows = findRule(p.allowing(), covers)
	d, decided := Decision{Narrow: name, Suggested: name}.byRules(said)
	always, _ := p.alwaysAsked(l)
	confined := p.Confinement.Sandbox && access.ToConfined
	if confined && d.Verdict != Refuse {
		d.Place = PlaceBackground
	}
	switch {
	case d.Verdict == Refuse, d.Verdict == Ask:
		return d
	case always != nil && !confined:
		return d.because(Ask, always...)
	case decided:
		return d
	case confined && p.trusts() && p.writesFreely():
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	}
	return d.because(Ask, Reason{Code: TypedInput})
}

// Hosts reports whether the present rules let calls of a tool reach a further host unasked, and
// whether one allows it at a private address. The func may be called from any goroutine.
func (p *Policy) Hosts(name string) func(host string) (unasked, own bool) {
	rules := &Policy{Mode: p.Mode, Root: p.Root, AllowRules: slices.Clone(p.AllowRules),
		AskRules:  slices.Clone(p.AskRules),
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
// such a rule lets no line leave the sandbox, and opens no host to one.
var firm = []Code{RuleAsks, RuleMayDeny, AlwaysAsked, MovesSecret, NotKept, ToolChanged, Outside, NeedsHosts}

// Heeding is the decision with the hooks' opinion of the call. Deny rules and the mode plan stand above
// a hook's deny; then come ask rules and calls that every mode asks about, a hook's ask, a hook's allow,
// allow rules and the mode. The user's permission in this session beats every ask.
func (d Decision) Heeding(o Opinion, mode Mode) Decision {
	code := map[Verdict]Code{Refuse: HookDenies, Ask: HookAsks, Run: HookAllows}[o.Verdict]
	if o.Failed {
		code = HookFailed
	}
	reason := Reason{Code: code, Object: o.Object}
	asks := d.Verdict == Ask && slices.ContainsFunc(d.Reasons, func(r Reason) bool {
		return slices.Contains(firm,
			r.Code)
	})
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

// Kept is the decision on a line that may overwrite files, once it is known which of them the journal cannot bring
// back: lost names these, "" for none.
func (d Decision) Kept(lost string) Decision {
	switch {
	case d.Verdict != Ask || len(d.Keep) == 0:
	case lost == "":
		d.Verdict = Run
	default:
		d.Reasons = append(slices.Clip(d.Reasons), Reason{Code: NotKept, Object: lost})
	}
	return d
}

// RunningOwn is the decision on a line that turned out to need the project's own programs, of which no word spoke.
func (d Decision) RunningOwn(programs string) Decision {
	d.Own = []string{programs}
	return d.because(Ask, Reason{Code: OwnPrograms, Object: programs})
}

// Layered is the decision on a server's call for its changes on a layer, which the yes to the call covers.
func (d Decision) Layered() Decision {
	d.Place, d.Covers = PlaceLayer, max(d.Covers, Content)
	return d
}

// Outside is the decision on a line that failed confined, and runs once more on the host with the user's yes.
func (d Decision) Outside() Decision {
	d.Place = PlaceHost
	return d
}

// WithHosts is the decision on a line that ran in the sandbox, failed, and may run once more with hosts: those that
// it was refused, or, where it could reach none, those of the sets of its programs. ok is false where there are none
// to offer.
func (p *Policy) WithHosts(d Decision, name string, access tool.Access,
	refused []Host) (with Decision, ok bool) {
	p = p.deciding()
	l := p.parse(name, access)
	if p.Mode == ModePlan || d.Place != PlaceLayer || !p.Confinement.Proxy || p.Fetches == nil {
		return d, false
	}
	needs := line.Each(refused, func(h Host) hostNeed { return hostNeed{name: h.String(), words: h.String(), hosts: []Host{h}} })
	for _, set := range setsOf(l) {
		if from, err := p.Fetches(set); len(refused)+len(d.Hosts) == 0 && err == nil && from.Key == "" {
			needs = append(needs, needsOf(set, from)...)
		}
	}
	hosts := p.opens(needs, l)
	if len(needs) == 0 || hosts.denies != nil || len(hosts.lacks) == 0 && len(refused) > 0 {
		return d, false
	}
	hosts.tell(d.Files)
	all := opened{hosts: slices.Clone(d.Hosts)}
	all.add(hosts.hosts...)
	d.Hosts, d.Files = all.hosts, hosts.files
	d = p.decideHosts(d.because(Run), l, hosts)
	d.Suggested = d.Narrow
	return d, true
}

// Concerns reports whether one of the rules speaks, or may speak, of a call, as a deny rule would.
// No rules speak of every call.
func (p *Policy) Concerns(rules []Rule, name string, access tool.Access) bool {
	own := p.deciding()
	own.DenyRules = rules
	if access.Kind == tool.KindRun && own.covered(rules, name, tool.Access{Kind: tool.KindNone}, false) == nil &&
		len(rules) > 0 {
		l := own.parse("bash", access)
		return l.denies != nil || l.mayDeny != nil
	}
	return len(rules) == 0 || access.Kind == tool.KindRun || own.covered(rules, name, access, false) != nil
}

// parse reads a line, and finds the rules that refuse it or ask about it.
func (p *Policy) parse(name string, access tool.Access) parsed {
	read := line.Parse(access.Command, access.Dir, p.Shell)
	l := parsed{tool: name, text: trimLine(access.Command), dir: access.Dir, problem: read.Problem}
	open := read.Problem != ""
	l.reads = !open && len(read.Commands) > 0
	for _, c := range read.Commands {
		s := &part{Command: c, open: c.Compound || c.RunsUnknown || c.SetsVariables || c.ChangesShell()}
		s.reads, s.why = p.reading(c)
		l.parts, l.reads, open = append(l.parts, s), l.reads && s.reads, open || s.open
	}
	if open {
		l.guesses = line.Guesses(l.text)
	}
	for _, r := range p.DenyRules {
		p.heed(&l, r, true)
	}
	for _, r := range p.AskRules {
		p.heed(&l, r, false)
	}
	return l
}

// heed notes whether a rule denies or may deny the line, or asks about it, and which of its commands. A line whose
// commands are not all seen counts as if it ran whatever words it holds, and one that the shell may take in another way
// may run anything. A rule asks about commands that the user did not allow in this session.
func (p *Policy) heed(l *parsed, r Rule, denies bool) {
	speaks := p.speaker(r, l.tool)
	whole := r.names(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text)) ||
		slices.ContainsFunc(l.guesses, func(c line.Command) bool { yes, _ := speaks(c); return yes })
	unclear := l.problem != "" && r.names(l.tool, tool.KindRun)
	hit := whole
	for _, s := range l.parts {
		yes, maybe := speaks(s.Command)
		switch {
		case denies && (yes || whole && s.open):
			hit, s.denies = true, first(s.denies, r)
		case denies:
			unclear = unclear || maybe
		case (yes || maybe || whole) && (r.Fixed || !p.commandCovered(p.session, l.tool, s.Command)):
			s.asks, l.asks = first(s.asks, r), first(l.asks, r)
		}
	}
	switch {
	case denies && hit:
		l.denies = first(l.denies, r)
	case denies && unclear:
		l.mayDeny = first(l.mayDeny, r)
	case !denies && (unclear || whole && len(l.parts) == 0):
		l.asks = first(l.asks, r)
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
		s.allows = findRule(p.allowing(), func(r Rule) bool { return p.coversCommand(r, l.tool, s.Command) })
		all = all && (s.reads && p.NoProject == "" || s.allows != nil)
	}
	return all
}

// part is the part of the decision on one simple command of a line.
func (d Decision) part(s *part, mode Mode) Part {
	var rule Rule
	verdict, why := Ask, "no rule covers it"
	switch {
	case s.denies != nil:
		verdict, why, rule = Refuse, "a deny rule covers it", *s.denies
	case s.reads:
		verdict, why = Run, "it only reads"
	case mode == ModePlan && d.Verdict != Run:
		verdict, why = Refuse, "plan mode is read-only, whatever the rules"
	case s.asks != nil && d.Verdict != Run:
		why, rule = "an ask rule covers it", *s.asks
	case s.destroys != "" && d.Verdict != Run:
		why = Reason{Code: AlwaysAsked, Object: s.destroys}.String()
	case s.allows != nil:
		verdict, why, rule = Run, "an allow rule covers it", *s.allows
	default:
		if obstacle := cmp.Or(s.why, plain(s.Command)); obstacle != "" {
			why += ": " + obstacle
		}
		if d.Verdict == Run { // the whole line may run
			verdict, why = Run, strings.Trim(why+"; "+d.Reason(), "; ")
		}
	}
	return Part{Text: s.String(), Verdict: verdict, Why: why, Rule: rule.String(), Origin: rule.Origin}
}
