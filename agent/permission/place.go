package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	facts "artoo/tool/project"
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
		d.Own, d.Builds = p.ownPrograms(l)
	}
	d.Git = slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" })
	d.Narrow = whole.String()
	d.Suggested = cmp.Or(wide, d.Narrow)
	return d
}

// rulesAt are the rules that may allow a line in the decision's place. Outside the sandbox only those
// for outside count.
func (p *Policy) rulesAt(d Decision) (all, session []Rule) {
	all, session = p.allowing(), p.SessionRules()
	if p.Confinement.Sandbox && d.Place == PlaceHost {
		inside := func(r Rule) bool { return !r.Outside }
		all, session = slices.DeleteFunc(all, inside), slices.DeleteFunc(session, inside)
	}
	return all, session
}

// decideProblem decides a line that the shell may take in another way: only a rule for every command
// covers it, unless something denied, asked or always asked may be hidden in it. On a layer its
// effects are judged.
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

// alwaysAsked names what of a line is asked about in every mode where nothing judges its effects: nil
// for nothing. keep are the files that the journal has to hold before it may run; nil for no cure.
func (p *Policy) alwaysAsked(l parsed) (reasons []Reason, keep []string) {
	curable, destroys, hidden := true, false, false
	for _, s := range l.parts {
		what := p.destroys(s.Command)
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
			curable = curable && simple && s.Base() != "git" && p.writesGuarded(s.Command) == ""
			keep = append(keep, p.couldLose(s.Command)...)
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

// trimLine is a command without the blanks around it that a shell ignores.
func trimLine(command string) string {
	if text := strings.Trim(command, " \t\n"); !strings.HasSuffix(text, `\`) {
		return text
	}
	return strings.TrimLeft(command, " \t\n")
}

// leaves reports whether a line has to run on the host, and notes in the decision why.
func (p *Policy) leaves(d *Decision, l parsed, access tool.Access) bool {
	if access.Unconfined != "" {
		d.Reasons = []Reason{{Code: Outside, Object: "the model says: " + access.Unconfined}}
		return true
	}
	for _, s := range l.sure {
		need, why := p.needs(s)
		if need == "" {
			continue
		}
		d.Needs = append(d.Needs, need)
		d.Reasons = append(d.Reasons, Reason{Code: Outside, Object: why, Part: s.String()})
	}
	return len(d.Needs) > 0
}

// needs says what a command needs that the sandbox does not have, "" for nothing, and
// why in words.
func (p *Policy) needs(s *part) (need line.Need, why string) {
	if s.Elevated {
		return line.Service, s.String() + " asks for more rights than yours"
	}
	if words := line.Texts(s.Git()); len(words) > 0 {
		if !s.reads {
			if denied := p.TrackedSecret(); denied != "" {
				return line.Home, "git tracks " + denied + ", which is hidden inside"
			}
			if program := p.signs(s.Command, words[0], words); program != "" {
				return line.Keys, "git signs with " + program
			}
		}
	}
	need, run := s.Needs()
	switch {
	case need == "":
		return "", ""
	case run.Runner != "" && p.installed(s.Command, run.Program):
		return "", ""
	case run.Runner != "":
		return need, strings.TrimSpace(run.Runner+" "+run.Program) + " is not installed in the project, so it needs the network"
	}
	return need, "it needs " + needWords[need]
}

// needWords are the needs as a question words them.
var needWords = map[line.Need]string{line.Network: "the network", line.Keys: "your keys or credentials",
	line.Home: "the machine outside the project", line.Service: "a service of the machine"}

// TrackedSecret is a denied file that git could show, or its place where that is unknown; "" for none.
func (p *Policy) TrackedSecret() string {
	names, err := p.World.gitSecrets(p.Root)
	switch {
	case err != nil:
		return "an unknown file"
	case len(names) > 0:
		return below(p.Root, names[0])
	}
	return ""
}

// signs names the program by which a git command would sign what it makes, "" for none.
func (p *Policy) signs(s line.Command, sub string, words []string) string {
	if !line.In("commit merge rebase cherry-pick revert am tag stash", sub) || line.HaveOption(words, "--no-gpg-sign --no-sign") {
		return ""
	}
	if line.HaveOption(words, "-S --gpg-sign") || sub == "tag" && line.HaveOption(words, "-s -u --sign --local-user") {
		return "gpg"
	}
	for _, dir := range s.Dirs {
		if program := facts.GitSigns(p.Environ, dir); program != "" {
			return program
		}
	}
	return ""
}

// coveredOutside reports whether rules for outside cover each command that needs one.
func (p *Policy) coveredOutside(l parsed) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := exactly(rules, l, p.Root); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }) {
		return true
	}
	return len(l.rest) > 0 && !slices.ContainsFunc(l.rest, func(s *part) bool { return !p.commandCovered(rules, l.tool, s.Command) })
}
