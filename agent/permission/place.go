package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// place says where a line runs, and what it runs there of the project's own.
func (p *Policy) place(l parsed, access tool.Access) Decision {
	whole := lineRule(l.tool, l.text)
	wide := suggestRun(l.tool, l.rest)
	d := Decision{}
	can := p.Confinement
	switch {
	case !can.Sandbox:
	case l.reads && access.Unconfined == "" && !access.Background:
		d.Place = PlaceReadOnly
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
		d.Own, d.Builds = p.project().ownPrograms(l)
	}
	d.Git = slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" })
	d.Narrow = whole.String()
	d.Suggested = cmp.Or(wide, d.Narrow)
	return d
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
// or asks, or an act that is always asked about, may be hidden in it. On a layer its
// effects are judged as those of any other line.
func (p *Policy) decideProblem(d Decision, l parsed, rules []Rule) Decision {
	narrows := func(r Rule) bool { return r.HasArg && r.names(l.tool, tool.KindRun) }
	hidden := slices.ContainsFunc(p.DenyRules, narrows) || slices.ContainsFunc(p.AskRules, narrows)
	if d.Place != PlaceLayer {
		hidden = hidden || line.MentionsDestructive(l.text)
	}
	every := func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }
	if r, ok := find(rules, every); ok && !hidden {
		d.Covers = Content
		return d.by(Run, RuleAllows, r)
	}
	if hidden || d.Place != PlaceLayer {
		return d.because(Ask, append([]Reason{{Code: NotParsed, Object: l.problem}}, d.Reasons...)...)
	}
	return p.byPlace(d, l)
}

// alwaysAsked names what of a line is asked about in every mode where nothing judges
// its effects: nil for nothing. keep are the files that it could remove or overwrite,
// which it may do once the journal has them; nil where that is no cure.
func (p *Policy) alwaysAsked(l parsed) (reasons []Reason, keep []string) {
	curable, destroys, hidden := true, false, false
	for _, s := range l.parts {
		what := p.project().destroys(s.Command)
		destroys = destroys || s.Certain && what != ""
		if what == "" || p.namedExactly(l.tool, s.Command) {
			continue
		}
		s.destroys = what
		if reasons == nil {
			reasons = []Reason{{Code: AlwaysAsked, Object: what, Part: s.String()}}
		}
		simple := !s.Compound && !s.RunsUnknown && !s.Elevated && !s.TakesArgs
		if s.Certain {
			curable = curable && simple && s.Base() != "git" && p.project().writesGuarded(s.Command) == ""
			keep = append(keep, p.project().couldLose(s.Command)...)
		} else {
			hidden = true
		}
	}
	if curable = curable && (destroys || !hidden); !curable {
		return reasons, nil
	}
	slices.Sort(keep)
	return reasons, slices.Compact(keep)
}

// trimLine is a command without the blank space at its ends, as far as a shell ignores it.
func trimLine(command string) string {
	if text := strings.Trim(command, " \t\n"); !strings.HasSuffix(text, `\`) {
		return text
	}
	return strings.TrimLeft(command, " \t\n")
}
