package permission

import "slices"

// spoken are the rules that speak of a call, nil for none. session and allows cover all of it.
type spoken struct {
	denies, mayDeny, asks, session, allows *Rule
	plan                                   bool // the mode plan refuses it
}

// byRules decides by rules, in the order in which they count; decided is false where none does.
func (d Decision) byRules(said spoken) (by Decision, decided bool) {
	switch {
	case said.denies != nil:
		return Decision{}.by(Refuse, RuleDenies, *said.denies), true
	case said.plan:
		return Decision{}.because(Refuse, Reason{Code: PlanMode}), true
	case said.asks != nil && (said.asks.Fixed || said.session == nil):
		return d.by(Ask, RuleAsks, *said.asks), true
	case said.mayDeny != nil && (said.mayDeny.Fixed || said.session == nil && said.allows == nil):
		return d.by(Ask, RuleMayDeny, *said.mayDeny), true
	case said.session != nil:
		return d.by(Run, SessionAllows, *said.session).covering(Content), true
	case said.allows != nil:
		return d.by(Run, RuleAllows, *said.allows).covering(Content), true
	}
	return d, false
}

// findRule is the first rule that fits, nil for none.
func findRule(rules []Rule, fits func(Rule) bool) *Rule {
	if r, ok := find(rules, fits); ok {
		return &r
	}
	return nil
}

func find[T any](list []T, fits func(T) bool) (found T, ok bool) {
	if i := slices.IndexFunc(list, fits); i >= 0 {
		return list[i], true
	}
	return found, false
}
