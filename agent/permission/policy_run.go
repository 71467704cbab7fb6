package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// parsed is a shell line taken apart, once for a decision.
type parsed struct {
	tool string // that runs it
	text string // the line without blank space around it
	dir  string // where it runs

	commands []line.Command
	problem  string         // why the shell may take the line in another way; "" for nothing
	seen     []line.Command // also those that the line could run

	rest  []line.Command // the commands that do more than read
	why   string         // why the first of them that nearly reads does not
	reads bool           // the line does nothing but read
}

func (p *Policy) parse(name string, access tool.Access) parsed {
	l := parsed{tool: name, text: trimLine(access.Command), dir: access.Dir}
	read := line.Parse(access.Command, access.Dir, p.Shell)
	l.seen, l.problem = read.Commands, read.Problem
	l.commands = slices.DeleteFunc(slices.Clone(l.seen), func(s line.Command) bool { return !s.Certain })
	l.rest, l.why = p.unread(name, l.commands)
	l.reads = l.problem == "" && len(l.commands) > 0 && len(l.rest) == 0
	return l
}

// decideRun decides over a shell line by the commands in it and by where it runs.
// Where the kernel has layers a line may run unasked unless it leaves the sandbox or
// runs the project's own programs: what it does is judged afterwards.
func (p *Policy) decideRun(name string, access tool.Access) Decision {
	l := p.parse(name, access)
	d := p.decideLine(p.place(l, access), l)
	if r, at := p.changedScript(l); d.Verdict == Ask && at != "" {
		d.Reasons = append([]Reason{{Code: ScriptChanged, Rule: r, Object: at}}, d.Reasons...)
	}
	return d
}

// place says where a line runs, and what it runs there of the project's own.
func (p *Policy) place(l parsed, access tool.Access) Decision {
	whole := lineRule(l.tool, l.text)
	wide := suggestRun(l.tool, l.rest)
	d := Decision{}
	can := p.Confinement
	switch {
	case !can.Sandbox:
	case l.reads && access.Unconfined == "" && !access.Background:
		d.Place = PlaceReading
	case p.leaves(&d, l, access), p.coveredOutside(l):
		whole.Outside = true
		if r, err := ParseRule(wide); err == nil && wide != "" {
			r.Outside = true
			wide = r.String()
		}
	case access.Background:
		d.Place = PlaceBackground
	default:
		if d.Place = PlaceLayer; !can.Layer {
			d.Place = PlaceSandbox
		}
		d.Own, d.Builds = p.ownPrograms(l)
	}
	d.Git = slices.ContainsFunc(l.seen, func(s line.Command) bool { return s.Base() == "git" })
	d.Narrow = whole.String()
	d.Suggested = cmp.Or(wide, d.Narrow)
	return d
}

// decideLine decides over a line that runs in the decision's place.
func (p *Policy) decideLine(d Decision, l parsed) Decision {
	r, denied, maybe := p.speaks(p.DenyRules, l.tool, l.text, l.seen)
	if denied {
		return Decision{}.by(Refuse, RuleDenies, r)
	}
	asks, asked := p.asked(l.tool, l.text, l.seen, l.reads)
	if p.Mode == ModePlan && !l.reads && (d.Place != PlaceLayer || asked || maybe) {
		if tried := p.byPlace(d, l); tried.Has(TriedFirst) && !asked && !maybe {
			return tried
		}
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	}
	rules, session := p.rulesAt(d)
	if r, ok := p.exactly(session, l.tool, l.text, l.dir); ok {
		d.Covers = Content
		return d.by(Run, SessionAllows, r)
	}
	if asked {
		return d.by(Ask, RuleAsks, asks)
	}
	if r, ok := p.exactly(rules, l.tool, l.text, l.dir); ok {
		d.Covers = Content
		return d.by(Run, RuleAllows, r)
	}
	switch {
	case maybe:
		return d.by(Ask, RuleMayDeny, r)
	case l.problem != "":
		if d, done := p.decideProblem(d, l, rules); done {
			return d
		}
	case l.reads && (d.Place != PlaceHost || !p.Confinement.Sandbox):
		d.Rule = Rule{Tool: l.tool, Arg: ReadGroup, HasArg: true}.String()
		return d.because(Run, Reason{Code: ReadsOnly})
	}
	if d.Place == PlaceHost || !p.Confinement.Layer {
		always, keep := p.alwaysAsked(l)
		if always != nil && keep == nil {
			d.Suggested = d.Narrow
			return d.because(Ask, append(always, d.Reasons...)...)
		}
		place := d.Place
		if d = p.coverage(d, l, rules); always != nil && d.Verdict == Run {
			if !d.Has(TriedFirst) {
				d.Keep = keep
			}
			d.Verdict, d.Place, d.Reasons = Ask, place, nil
		}
		d.Reasons = append(always, d.Reasons...)
		return d
	}
	return p.coverage(d, l, rules)
}

// coverage decides over a line by the rules that cover its commands, and else by its
// place.
func (p *Policy) coverage(d Decision, l parsed, rules []Rule) Decision {
	uncovered := slices.ContainsFunc(l.rest, func(s line.Command) bool { return !p.commandCovered(rules, l.tool, s) })
	if l.problem == "" && len(l.rest) > 0 && !uncovered {
		d.Covers = Content
		return d.because(Run, Reason{Code: RuleAllows})
	}
	return p.byPlace(d, l)
}

// byPlace decides over a line that no rule covers.
func (p *Policy) byPlace(d Decision, l parsed) Decision {
	if r, ok := p.group(p.DenyRules, l.tool); ok {
		return d.because(Ask, Reason{Code: ReadingDenied, Rule: r.String()})
	}
	switch {
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
		d.Place = PlaceReading
		return d.because(Run, Reason{Code: TriedFirst})
	case len(d.Reasons) > 0: // it leaves the sandbox
		d.Verdict = Ask
		return d
	}
	why := l.why
	switch can := p.holds(); {
	case len(d.Own) > 0:
		why = "it runs the project's own programs: " + strings.Join(d.Own, ", ")
	case why == "" && p.Confinement.First && !can.First:
		why = "commands here could read denied files"
	}
	return d.because(Ask, Reason{Code: MoreThanReading, Object: why})
}

// rulesAt are the rules that may allow a line in the decision's place: those that
// the user gave, and those of this session. A line that leaves the sandbox needs rules
// that say so.
func (p *Policy) rulesAt(d Decision) (all, session []Rule) {
	all, session = p.allowing(), p.SessionRules()
	if p.Confinement.Sandbox && d.Place == PlaceHost {
		inside := func(r Rule) bool { return !r.Outside }
		all, session = slices.DeleteFunc(all, inside), slices.DeleteFunc(session, inside)
	}
	return all, session
}

// decideProblem decides a line that the shell may take in another way than the
// parser: only a rule for every command covers it, and none while a rule that denies
// or asks, or what is asked always, may be hidden in it. On a layer its effects are
// judged as those of any other line; done is false then.
func (p *Policy) decideProblem(d Decision, l parsed, rules []Rule) (_ Decision, done bool) {
	narrows := func(r Rule) bool { return r.HasArg && r.names(l.tool, tool.KindRun) }
	hides := slices.ContainsFunc(p.DenyRules, narrows) || slices.ContainsFunc(p.AskRules, narrows)
	if always, _ := p.alwaysAsked(l); d.Place != PlaceLayer {
		if always != nil {
			return d.because(Ask, always...), true
		}
		hides = hides || line.MentionsDestructive(l.text)
	}
	if r, ok := find(rules, func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }); ok && !hides {
		d.Covers = Content
		return d.by(Run, RuleAllows, r), true
	}
	if hides || d.Place != PlaceLayer {
		return d.because(Ask, append([]Reason{{Code: NotParsed, Object: l.problem}}, d.Reasons...)...), true
	}
	return d, false
}

// alwaysAsked names what of a line is asked about in every mode where nothing judges
// its effects: nil for nothing. keep are the files that it could remove or overwrite,
// which it may do once the journal has them; nil where that is no cure.
func (p *Policy) alwaysAsked(l parsed) (reasons []Reason, keep []string) {
	curable := true
	for _, s := range l.seen {
		what := p.destroys(s)
		if what == "" || p.namedExactly(l.tool, s) {
			continue
		}
		if reasons == nil {
			reasons = []Reason{{Code: AlwaysAsked, Object: what, Part: s.String()}}
		}
		simple := !s.Compound && !s.RunsUnknown && !s.Elevated && !s.TakesArgs
		if s.Certain {
			curable = curable && simple && s.Base() != "git" && p.writesGuarded(s) == ""
			keep = append(keep, p.couldLose(s)...)
		} else if !slices.ContainsFunc(l.commands, func(c line.Command) bool { return p.destroys(c) != "" }) {
			curable = false // it is hidden in the line
		}
	}
	if !curable {
		return reasons, nil
	}
	slices.Sort(keep)
	return reasons, slices.Compact(keep)
}

// trimLine takes blank space off the ends of a command, but for what a shell
// does not take for blank, and a line's end that a backslash takes away.
func trimLine(command string) string {
	if text := strings.Trim(command, " \t\n"); !strings.HasSuffix(text, `\`) {
		return text
	}
	return strings.TrimLeft(command, " \t\n")
}
