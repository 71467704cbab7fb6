package permission

import "artoo/tool"

// decideInput decides over what is typed to a background command. It may be a shell,
// or another program that does what it is told: so it is decided as a line would be
// that nobody can take apart. What the command itself was allowed by says nothing of
// it, but for a rule for every command.
func (p *Policy) decideInput(name string, access tool.Access) Decision {
	d := Decision{Effect: Ask, Narrow: name, Suggested: name, Reason: "what is typed to a command may run anything"}
	if r, ok := p.covered(p.DenyRules, name, tool.Access{Kind: tool.KindNone}, false); ok {
		return Decision{}.because(Deny, "the rule deny "+r.String(), r)
	}
	line := trimLine(access.Command)
	commands, _ := p.takeApart(access.Command, access.Dir)
	seen := append(commands, hiddenCommands(access.Command, access.Dir)...)
	if r, denied, _ := p.speaks(p.DenyRules, "bash", line, seen); denied {
		return Decision{}.because(Deny, "the rule deny "+r.String(), r)
	}
	if p.Mode == ModePlan {
		return Decision{Effect: Deny, Reason: "plan mode only looks; what is typed may change something"}
	}
	for _, s := range seen {
		if what, yes := p.destroys(s); yes {
			d.Reason = alwaysAsked(what)
			return d
		}
	}
	if r, ok := p.asked("bash", line, seen, false); ok {
		return d.because(Ask, "the rule ask "+r.String(), r)
	}
	covers := func(r Rule) bool { return !r.HasArg && (r.names(name, tool.KindRun) || r.names("bash", tool.KindRun)) }
	if r, ok := find(p.allowing(), covers); ok {
		return d.because(Allow, "the rule allow "+r.String(), r)
	}
	return d
}
