package permission

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// Explanation is what a policy says of a call, part by part.
type Explanation struct {
	Tool      string          `json:"tool"`
	Call      string          `json:"call"` // the command, path or host
	Mode      Mode            `json:"mode"`
	Verdict   Verdict         `json:"effect"`
	Reason    string          `json:"reason"`
	Rule      string          `json:"rule"`      // the rule that decided, "" when the mode did
	Narrow    string          `json:"narrow"`    // the narrowest rule that would allow this very call; "" when none can
	Suggested string          `json:"suggested"` // a wider one; may equal Narrow
	Parts     []ExplainedPart `json:"parts"`     // the simple commands of a line; nil for other tools
	Missed    []MissedRule    `json:"missed"`    // rules for the tool that do not cover the call
	// Place is where a line runs when it may: "host", "layer", "background", "sandbox" or
	// "read-only"; "" where nothing confines.
	Place   string   `json:"place,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"` // those of the decision, as data
}

// ExplainedPart is one simple command of a line, with wrappers opened.
type ExplainedPart struct {
	Text    string       `json:"text"`
	Verdict Verdict      `json:"effect"`
	Why     string       `json:"why"`
	Rule    string       `json:"rule"`   // "" when no rule spoke
	Origin  string       `json:"origin"` // where the rule stands
	Missed  []MissedRule `json:"missed"`
}

// MissedRule is a rule that nearly speaks of a call, and why it does not.
type MissedRule struct {
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
	Why    string `json:"why"`
}

// RuleInForce is a rule with where it stands.
type RuleInForce struct {
	Verdict Verdict `json:"effect"`
	Rule    string  `json:"rule"`
	Origin  string  `json:"origin"`
	Remark  string  `json:"remark,omitempty"` // what it covers that one may not think of
	// Session says that it was allowed in this session, and can be dropped.
	Session bool `json:"-"`
}

// InForce are all rules in the order in which they count.
func (p *Policy) InForce() (list []RuleInForce) {
	add := func(verdict Verdict, rules []Rule, session bool) {
		for _, r := range rules {
			row := RuleInForce{Verdict: verdict, Rule: r.String(), Origin: r.Origin, Session: session}
			if verdict == Run {
				row.Remark = r.Remark()
			}
			list = append(list, row)
		}
	}
	add(Refuse, p.DenyRules, false)
	add(Run, p.session, true)
	add(Ask, p.AskRules, false)
	add(Run, p.AllowRules, false)
	return list
}

var toolCall = regexp.MustCompile(`(?s)^([A-Za-z_][A-Za-z0-9_]*)\((.+)\)$`)

// CallFor reads a call as one would write a rule for it: read(.env),
// edit(src/a.go), web_fetch(go.dev). Anything else is a shell line. Paths are
// seen as the tools see them.
func CallFor(text string, files *tool.Files) (name string, access tool.Access, err error) {
	line := func(text string) (string, tool.Access, error) {
		return "bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: files.Dir(), Object: text}, nil
	}
	m := toolCall.FindStringSubmatch(text)
	if m == nil {
		return line(text)
	}
	r := Rule{Tool: m[1]}
	kind, err := r.canonical(text)
	if err != nil {
		return line(text) // a line that looks like a call
	}
	object := strings.TrimSpace(m[2])
	switch {
	case kind == ruleCommand:
		return line(object)
	case kind == ruleHost, strings.HasPrefix(r.Tool, "mcp__"):
		access = tool.Access{Kind: tool.KindNetwork, Object: strings.TrimPrefix(object, "domain:")}
		if kind == ruleHost {
			access.Host, err = tool.HostOf(access.Object)
		}
		return r.Tool, access, err
	case kind == ruleNone:
		return r.Tool, tool.Access{Kind: tool.KindNone, Object: object}, nil
	}
	access = tool.Access{Kind: tool.KindRead, Object: object}
	if writes(r.Tool) {
		access.Kind = tool.KindWrite
	}
	resolve := func(path string) (tool.Place, error) { return files.Resolve(path, access.Kind == tool.KindWrite) }
	if r.Tool == "read" {
		resolve = files.ResolveRead
	}
	place, err := resolve(object)
	if err != nil {
		return "", access, err
	}
	access.Paths, access.Outside, access.Denied, access.Why = []string{place.Abs}, place.Outside, place.Denied, place.Why
	return r.Tool, access, nil
}

// Explain decides a call as Decide does, and says of each part which rule
// matched it, and why others did not.
func (p *Policy) Explain(name string, access tool.Access) Explanation {
	d := p.Decide(name, access)
	e := Explanation{Tool: name, Call: access.Object, Mode: p.Mode, Verdict: d.Verdict, Reason: d.Reason(), Rule: d.Rule,
		Narrow: d.Narrow, Suggested: d.Suggested, Reasons: d.Reasons}
	if e.Reason == "" {
		e.Reason = "mode " + string(p.Mode)
	}
	if access.Kind != tool.KindRun {
		for _, r := range p.allowing() {
			if r.names(name, access.Kind) && r.String() != d.Rule {
				e.Missed = append(e.Missed, MissedRule{r.String(), r.Origin, p.whyNotFile(r, access)})
			}
		}
		return e
	}
	if p.Confinement.Sandbox && d.Verdict != Refuse {
		e.Place = cmp.Or(string(d.Place), "host")
	}
	for _, s := range line.Parse(access.Command, access.Dir, p.Shell).Commands {
		part := p.explainPart(name, s)
		known := slices.ContainsFunc(e.Parts, func(known ExplainedPart) bool { return known.Text == part.Text })
		if !s.Certain && (known || part.Verdict != Refuse) {
			continue
		}
		if d.Verdict == Run && part.Verdict == Ask { // what holds the whole line lets it pass
			part.Verdict, part.Why = Run, part.Why+"; "+d.Reason()
		}
		e.Parts = append(e.Parts, part)
	}
	return e
}

func (p *Policy) whyNotFile(r Rule, access tool.Access) string {
	switch {
	case p.Mode == ModePlan:
		return "plan mode only reads, whatever the rules"
	case !p.coversOthersRun(r, access):
		return p.writesForOthers(access)
	case access.Outside, access.Denied:
		return access.Why
	}
	if access.Kind == tool.KindNetwork {
		return "it names other hosts"
	}
	return "it names other files"
}

func (p *Policy) explainPart(name string, s line.Command) ExplainedPart {
	part := ExplainedPart{Text: s.String()}
	is := func(verdict Verdict, why string) ExplainedPart {
		part.Verdict, part.Why = verdict, why
		return part
	}
	by := func(verdict Verdict, r Rule, why string) ExplainedPart {
		part.Rule, part.Origin = r.String(), r.Origin
		return is(verdict, why)
	}
	for _, r := range p.DenyRules {
		switch yes, maybe := r.speaksOf(s); {
		case !r.namesWidely(name, tool.KindRun):
		case yes:
			return by(Refuse, r, "a deny rule speaks of it")
		case maybe:
			part.Missed = append(part.Missed, MissedRule{r.String(), r.Origin, "what decides is not known beforehand"})
		}
	}
	reads, reason := p.onlyReads(s)
	_, taken := p.group(p.DenyRules, name)
	if reads && !taken && !p.NoProject {
		return by(Run, Rule{Tool: name, Arg: ReadGroup, HasArg: true}, "it only reads")
	}
	if p.Mode == ModePlan {
		return is(Refuse, "plan mode only reads, whatever the rules")
	}
	for _, r := range p.AskRules {
		if yes, _ := r.speaksOf(s); yes && r.namesWidely(name, tool.KindRun) && !p.commandCovered(p.session, name, s) {
			return by(Ask, r, "an ask rule speaks of it")
		}
	}
	if what := p.destroys(s); what != "" && !p.Confinement.Layer && !p.namedExactly(name, s) {
		return is(Ask, Reason{Code: AlwaysAsked, Object: what}.String())
	}
	for _, r := range p.allowing() {
		if p.commandCovered([]Rule{r}, name, s) {
			return by(Run, r, "an allow rule covers it")
		}
		if why := p.whyNot(r, name, s); why != "" {
			part.Missed = append(part.Missed, MissedRule{r.String(), r.Origin, why})
		}
	}
	if reason != "" {
		return is(Ask, "no rule covers it, and it does more than read: "+reason)
	}
	return is(Ask, "no rule covers it")
}

// whyNot says why a rule for commands that begin as this one does not cover it;
// "" for a rule that speaks of something else.
func (p *Policy) whyNot(r Rule, name string, s line.Command) string {
	expected, open := r.command()
	if !r.names(name, tool.KindRun) || r.Arg == ReadGroup || len(expected) == 0 || len(s.Words) == 0 ||
		!expected[0].matches(s.Words[0].Text, true) {
		return ""
	}
	if at := r.changed(); at != "" {
		return p.below(at) + " has changed since it was allowed"
	}
	if why := modified(s); why != "" {
		return why
	}
	for i, w := range expected {
		switch {
		case w.any():
			return "an option stands before its subcommand, or the words behind * do not fit"
		case i >= len(s.Words):
			return fmt.Sprintf("it wants %s, and the command ends before", strings.ReplaceAll(w.Text, wildcard, "*"))
		case !s.Words[i].Known || s.Words[i].Glob:
			return fmt.Sprintf("what %s stands for is not known beforehand", s.Words[i].Text)
		case !w.matches(s.Words[i].Text, false):
			return fmt.Sprintf("it says %s, the command %s", strings.ReplaceAll(w.Text, wildcard, "*"), s.Words[i].Text)
		}
	}
	if !open && len(s.Words) > len(expected) {
		next := s.Words[len(expected)].Text
		return "the command goes on with " + next + "; with :* at its end the rule would take more words"
	}
	return "a path in it leads elsewhere from where the command runs"
}

// modified says what around a command keeps all rules for its words from
// covering it, "" for nothing.
func modified(s line.Command) string {
	switch {
	case len(s.Outputs) > 0:
		return "its output goes into " + s.Outputs[0].Text
	case s.Elevated:
		return "it runs with more rights (sudo, doas)"
	case s.SetsVariables:
		return "variables are set for it"
	case s.Compound, s.RunsUnknown, s.UnsafeExpansion:
		return "it is more than a simple command, and what it runs is not seen"
	}
	return ""
}
