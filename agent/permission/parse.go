package permission

import (
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

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
			s.unasked = s.reads && !p.NoProject && (!denied || row.has(pathless) || c.Name() == "cd")
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
