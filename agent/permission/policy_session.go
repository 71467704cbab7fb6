package permission

import (
	"maps"
	"slices"

	"artoo/tool"
)

// DropInSession takes back the rules of this text that AllowInSession added. It
// reports whether there was one.
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

// Keep notes that rules of this text, which AllowInSession added, are written
// down for good.
func (p *Policy) Keep(rule string) {
	for i := range p.session {
		if parsed, err := ParseRule(rule); err == nil && p.session[i].String() == parsed.String() {
			p.session[i].Origin = ofProject
		}
	}
}

// Approved is what a rule that AllowInSession added speaks of; nil for another.
func (p *Policy) Approved(rule string) *Approval {
	parsed, err := ParseRule(rule)
	if err != nil {
		return nil
	}
	for _, r := range slices.Backward(p.session) {
		if r.String() == parsed.String() {
			return &Approval{Dir: r.base, Scripts: maps.Clone(r.bound)}
		}
	}
	return nil
}

// ForgetSession takes back all that AllowInSession added: another session
// begins.
func (p *Policy) ForgetSession() { p.session = nil }

// changedScript says that a script has changed since a rule that would cover
// this call was approved, "" when there is none.
func (p *Policy) changedScript(name string, access tool.Access) string {
	line := trimLine(access.Command)
	for _, r := range p.allowing() {
		at := r.changed()
		if at == "" {
			continue
		}
		r.bound = nil
		commands, _ := p.takeApart(access.Command, access.Dir)
		_, covers := p.exactly([]Rule{r}, name, line, access.Dir)
		if covers || slices.ContainsFunc(commands, func(s simple) bool { return p.commandCovered([]Rule{r}, name, s) }) {
			return p.below(at) + " has changed since it was allowed by " + r.String()
		}
	}
	return ""
}
