package permission

import (
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/web"
)

// matchesHost reports whether the rule covers a host, with or without its port:
// itself, or with *. before it those below it, on every port unless it names one. A
// rule that refuses or asks covers both. One that allows all hosts covers none of
// this machine or of a private network.
func (r Rule) matchesHost(at string, wide bool) bool {
	if !r.HasArg {
		return wide || web.Own(at) == ""
	}
	host, port := web.SplitHost(strings.ToLower(at))
	expected, expectedPort := web.SplitHost(r.Arg)
	host = strings.TrimSuffix(host, ".")
	suffix, below := strings.CutPrefix(expected, "*.")
	switch {
	case expectedPort != "" && expectedPort != port:
		return false
	case below:
		return strings.HasSuffix(host, "."+suffix) || wide && host == suffix
	}
	return host == expected || wide && strings.HasSuffix(host, "."+expected)
}

// namesServer reports whether the rule allows a host wherever it is: it names it with
// its port, or it is one of this machine or of a private network by its spelling.
func (r Rule) namesServer(at string) bool {
	_, port := web.SplitHost(r.Arg)
	return r.HasArg && !strings.HasPrefix(r.Arg, "*") && (port != "" || web.Own(r.Arg) != "") &&
		r.matchesHost(at, false)
}

// ruleForHost is the narrowest rule for a host that does not say more than its name:
// the port counts for addresses that are not public alone.
func ruleForHost(name, at string) Rule {
	if web.Own(at) != "" {
		return Rule{Tool: name, Arg: at, HasArg: true}
	}
	host, _ := web.SplitHost(at)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return Rule{Tool: name, Arg: host, HasArg: true}
}

// Hosts says which further hosts the rules of this moment let calls of the named tool reach: whether a host passes unasked, and whether a rule allows it at an
// address of this machine or of a private network. The func may be called from any
// goroutine.
func (p *Policy) Hosts(name string) func(host string) (unasked, own bool) {
	rules := &Policy{Mode: p.Mode, Root: p.Root, AllowRules: slices.Clone(p.AllowRules), AskRules: slices.Clone(p.AskRules),
		DenyRules: slices.Clone(p.DenyRules), session: p.SessionRules()}
	return func(host string) (unasked, own bool) {
		d := rules.Decide(name, tool.Access{Kind: tool.KindNetwork, Host: host})
		own = d.Verdict != Refuse && slices.ContainsFunc(rules.allowing(), func(r Rule) bool {
			return r.names(name, tool.KindNetwork) && r.namesServer(host)
		})
		return d.Verdict == Run, own
	}
}
