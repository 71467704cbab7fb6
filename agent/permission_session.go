package agent

import "slices"

// DropInSession takes back the rules of this text that AllowInSession added. It
// reports whether there was one.
func (p *Policy) DropInSession(rule string) bool {
	before := len(p.session)
	p.session = slices.DeleteFunc(p.session, func(r Rule) bool { return r.String() == rule })
	return len(p.session) < before
}

// ForgetSession takes back all that AllowInSession added: another session
// begins.
func (p *Policy) ForgetSession() { p.session = nil }
