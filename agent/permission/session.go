package permission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"artoo/tool"
)

// ForSubAgent is the policy of a sub-agent that begins now: the same mode and rules.
// Its permissions do not hold for p.
func (p *Policy) ForSubAgent() *Policy {
	own := *p
	own.session, own.AllowRules = p.SessionRules(), slices.Clip(p.AllowRules)
	return &own
}

// AllowInSession adds an allow rule for the rest of the session, if it allows
// the call it was given for; the error explains why it does not.
func (p *Policy) AllowInSession(rule, name string, access tool.Access) error {
	r, err := p.Covers(rule, name, access)
	if err == nil {
		p.session = append(p.session, r)
	}
	return err
}

// Bind fixes the meaning of the rules from here on: paths are seen from the working directory, and scripts
// are bound to the result of approved for a rule (nil for none; may be nil) or their present content.
func (p *Policy) Bind(approved func(rule string) *Approval) {
	dir := cmp.Or(p.Dir, p.Root)
	for i, r := range p.AllowRules {
		then := &Approval{Dir: dir}
		if approved != nil {
			then = cmp.Or(approved(r.String()), then)
		}
		p.AllowRules[i] = r.bind(then.Dir, then.Scripts)
	}
	for _, rules := range [][]Rule{p.AskRules, p.DenyRules} {
		for i := range rules {
			rules[i].base = dir
		}
	}
}

// Approval is the meaning of a rule when it was approved permanently: the directory
// its paths are seen from, and the contents of the scripts it names, by path.
type Approval struct {
	Dir     string            `json:"dir"`
	Scripts map[string]string `json:"scripts"`
}

// Covers reads a rule that has to allow a call.
func (p *Policy) Covers(rule, name string, access tool.Access) (Rule, error) {
	r, err := ParseRule(rule)
	if err != nil {
		return Rule{}, err
	}
	r.Origin, r.given = ofSession, true
	r = r.bind(cmp.Or(access.Dir, p.Dir, p.Root), nil) // it speaks of the files as the call sees them
	if r.Outside && r.HasArg {
		for _, at := range p.obeyed() {
			r.bound[at] = contentOf(at)
		}
	}
	if d := p.Decide(name, access); d.Place == PlaceHost && p.Confinement.Sandbox && access.Kind == tool.KindRun &&
		r.String() != d.Narrow {
		return Rule{}, fmt.Errorf("no lasting rule fits a line outside the sandbox: %s", cmp.Or(d.Narrow,
			"a yes counts once"))
	}
	with := *p
	with.session = append(p.SessionRules(), r)
	if d := with.Decide(name, access); d.Verdict != Run {
		return Rule{}, fmt.Errorf("the rule %s would not allow this call: %s", r, d.Reason())
	}
	return r, nil
}

// DropInSession removes session rules of this text, and reports whether there was one.
func (p *Policy) DropInSession(rule string) bool {
	before := len(p.session)
	p.session = slices.DeleteFunc(p.session, func(r Rule) bool { return r.String() == rule })
	return len(p.session) < before
}

// Where a rule that was given at a question stands.
const (
	ofSession = "this session"
	ofProject = "your config file, for this project"
)

// inSession is the rule of this text that AllowInSession added last; nil for none.
func (p *Policy) inSession(rule string) *Rule {
	parsed, err := ParseRule(rule)
	for i := len(p.session) - 1; err == nil && i >= 0; i-- {
		if p.session[i].String() == parsed.String() {
			return &p.session[i]
		}
	}
	return nil
}

// Keep notes that a session rule of this text is written down permanently.
func (p *Policy) Keep(rule string) {
	if r := p.inSession(rule); r != nil {
		r.Origin = ofProject
	}
}

// Approved is the Approval of a rule that AllowInSession added; nil for another.
func (p *Policy) Approved(rule string) *Approval {
	if r := p.inSession(rule); r != nil {
		return &Approval{Dir: r.base, Scripts: maps.Clone(r.bound)}
	}
	return nil
}

// ForgetSession removes the rules that AllowInSession added.
func (p *Policy) ForgetSession() { p.session = nil }
