package permission

import (
	"slices"
	"strings"

	"artoo/tool"
)

// decideOdd decides a line that the shell may take in another way than the
// parser: only a rule for every command covers it, and none while a rule that
// denies or asks, or what is asked always, may be hidden in it.
func (p *Policy) decideOdd(d Decision, name, line string, commands []simple, odd string) Decision {
	d.Reason = odd + ", so only a rule for this very line or for every command covers it"
	for _, s := range commands {
		if what, yes := p.destroys(s); yes {
			d.Reason = alwaysAsked(what)
			return d
		}
	}
	narrows := func(r Rule) bool { return r.HasArg && r.names(name, tool.KindRun) }
	if mentionsDestructive(line) || slices.ContainsFunc(p.DenyRules, narrows) || slices.ContainsFunc(p.AskRules, narrows) {
		return d
	}
	for _, r := range append(p.SessionRules(), p.AllowRules...) {
		if !r.HasArg && r.names(name, tool.KindRun) {
			return d.because(Allow, "the rule allow "+r.String(), r)
		}
	}
	return d
}

// mentionsDestructive looks for the commands of destructive, and for output into
// files, in a text that is not understood.
func mentionsDestructive(line string) bool {
	line = strings.ToLower(strings.NewReplacer("\\", "", "'", "", `"`, "").Replace(line))
	words := strings.FieldsFunc(line, func(c rune) bool { return c < 'a' || c > 'z' })
	return strings.ContainsAny(line, ">`$") || slices.ContainsFunc([]string{"git", "rm", "find", "shred", "truncate", "mv", "tee", "cp",
		"sed", "dd", "install", "ln"}, func(word string) bool { return slices.Contains(words, word) })
}
