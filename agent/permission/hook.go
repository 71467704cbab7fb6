package permission

import (
	"slices"

	"artoo/tool"
)

// Opinion is that of the hooks before a call. The zero value is none.
type Opinion struct {
	Verdict Verdict // "" for no opinion
	Failed  bool    // The verdict is Refuse because a hook failed.
	// Object names the hook, with its reason or its failure.
	Object string
}

// firm are the codes of questions that a hook's allow does not answer: it is worth no more than a rule
// for every call, which lets no line leave the sandbox.
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
