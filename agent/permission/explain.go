package permission

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"artoo/tool"
)

// Explanation is what a policy says of a call, part by part.
type Explanation struct {
	Tool      string          `json:"tool"`
	Call      string          `json:"call"` // the command, path or host
	Mode      Mode            `json:"mode"`
	Effect    Effect          `json:"effect"`
	Reason    string          `json:"reason"`
	Rule      string          `json:"rule"`      // the rule that decided, "" when the mode did
	Narrow    string          `json:"narrow"`    // the narrowest rule that would allow this very call; "" when none can
	Suggested string          `json:"suggested"` // a wider one; may equal Narrow
	Parts     []ExplainedPart `json:"parts"`     // the simple commands of a line; nil for other tools
	Missed    []MissedRule    `json:"missed"`    // rules for the tool that do not cover the call
	// Place is where a line runs when it may: "host", "sandbox", "layer" or "read-only";
	// OffLayer is why it is no layer, where there are layers. "" where nothing confines.
	Place    string `json:"place,omitempty"`
	OffLayer string `json:"off_layer,omitempty"`
}

// ExplainedPart is one simple command of a line, with wrappers opened.
type ExplainedPart struct {
	Text   string       `json:"text"`
	Effect Effect       `json:"effect"`
	Why    string       `json:"why"`
	Rule   string       `json:"rule"`   // "" when no rule spoke
	Origin string       `json:"origin"` // where the rule stands
	Missed []MissedRule `json:"missed"`
}

// MissedRule is a rule that nearly speaks of a call, and why it does not.
type MissedRule struct {
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
	Why    string `json:"why"`
}

// RuleInForce is a rule with where it stands.
type RuleInForce struct {
	Effect Effect `json:"effect"`
	Rule   string `json:"rule"`
	Origin string `json:"origin"`
	Remark string `json:"remark,omitempty"` // what it covers that one may not think of
	// Session says that it was allowed in this session, and can be dropped.
	Session bool `json:"-"`
}

// InForce are all rules in the order in which they count.
func (p *Policy) InForce() (list []RuleInForce) {
	add := func(effect Effect, rules []Rule, session bool) {
		for _, r := range rules {
			row := RuleInForce{Effect: effect, Rule: r.String(), Origin: r.Origin, Session: session}
			if effect == Allow {
				row.Remark = r.Remark()
			}
			list = append(list, row)
		}
	}
	add(Deny, p.DenyRules, false)
	add(Allow, p.session, true)
	add(Ask, p.AskRules, false)
	add(Allow, p.AllowRules, false)
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
	e := Explanation{Tool: name, Call: access.Object, Mode: p.Mode, Effect: d.Effect, Reason: d.Reason, Rule: d.Rule,
		Narrow: d.Narrow, Suggested: d.Suggested}
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
	commands, odd := p.takeApart(access.Command, access.Dir)
	if p.Confinement.Sandbox && d.Effect != Deny {
		e.Place = cmp.Or(string(d.Place), "host")
		if p.Confinement.Layer && d.Place == PlaceSandbox {
			e.OffLayer = p.offLayer(access, commands, odd)
		}
	}
	for _, s := range commands {
		part := p.explainPart(name, s)
		if d.Effect == Allow && part.Effect == Ask { // what holds the whole line lets it pass
			part.Effect, part.Why = Allow, part.Why+"; "+d.Reason
		}
		e.Parts = append(e.Parts, part)
	}
	for _, s := range hiddenCommands(access.Command, access.Dir) {
		part := p.explainPart(name, s)
		known := slices.ContainsFunc(e.Parts, func(known ExplainedPart) bool { return known.Text == part.Text })
		if part.Effect == Deny && !known {
			e.Parts = append(e.Parts, part)
		}
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

func (p *Policy) explainPart(name string, s simple) ExplainedPart {
	part := ExplainedPart{Text: s.shown()}
	is := func(effect Effect, why string) ExplainedPart {
		part.Effect, part.Why = effect, why
		return part
	}
	by := func(effect Effect, r Rule, why string) ExplainedPart {
		part.Rule, part.Origin = r.String(), r.Origin
		return is(effect, why)
	}
	for _, r := range p.DenyRules {
		switch yes, maybe := r.speaksOf(s); {
		case !r.namesWidely(name, tool.KindRun):
		case yes:
			return by(Deny, r, "a deny rule speaks of it")
		case maybe:
			part.Missed = append(part.Missed, MissedRule{r.String(), r.Origin, "what decides is not known beforehand"})
		}
	}
	reads, reason := p.onlyReads(s)
	_, taken := p.group(p.DenyRules, name)
	if reads && !taken && !p.NoProject {
		return by(Allow, Rule{Tool: name, Arg: ReadGroup, HasArg: true}, "it only reads")
	}
	if p.Mode == ModePlan {
		return is(Deny, "plan mode only reads, whatever the rules")
	}
	for _, r := range p.AskRules {
		if yes, _ := r.speaksOf(s); yes && r.namesWidely(name, tool.KindRun) && !p.commandCovered(p.session, name, s) {
			return by(Ask, r, "an ask rule speaks of it")
		}
	}
	if what, yes := p.destroys(s); yes && !p.namedExactly(name, s) {
		return is(Ask, alwaysAsked(what))
	}
	for _, r := range p.allowing() {
		if p.commandCovered([]Rule{r}, name, s) {
			return by(Allow, r, "an allow rule covers it")
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
func (p *Policy) whyNot(r Rule, name string, s simple) string {
	expected, open := r.command()
	if !r.names(name, tool.KindRun) || r.Arg == ReadGroup || len(expected) == 0 || len(s.words) == 0 ||
		!expected[0].matches(s.words[0].text, true) {
		return ""
	}
	if at := r.changed(); at != "" {
		return p.below(at) + " has changed since it was allowed"
	}
	if why := s.untamed(); why != "" {
		return why
	}
	for i, w := range expected {
		switch {
		case w.any():
			return "an option stands before its subcommand, or the words behind * do not fit"
		case i >= len(s.words):
			return fmt.Sprintf("it wants %s, and the command ends before", strings.ReplaceAll(w.text, wildcard, "*"))
		case !s.words[i].known || s.words[i].glob:
			return fmt.Sprintf("what %s stands for is not known beforehand", s.words[i].text)
		case !w.matches(s.words[i].text, false):
			return fmt.Sprintf("it says %s, the command %s", strings.ReplaceAll(w.text, wildcard, "*"), s.words[i].text)
		}
	}
	if !open && len(s.words) > len(expected) {
		next := s.words[len(expected)].text
		return "the command goes on with " + next + "; with :* at its end the rule would take more words"
	}
	return "a path in it leads elsewhere from where the command runs"
}

// untamed says what around a command keeps all rules for its words from
// covering it, "" for nothing.
func (s simple) untamed() string {
	switch {
	case len(s.outputs) > 0:
		return "its output goes into " + s.outputs[0].text
	case s.raised:
		return "it runs with more rights (sudo, doas)"
	case s.assigns:
		return "variables are set for it"
	case s.opaque, s.hides, s.loose:
		return "it is more than a simple command, and what it runs is not seen"
	}
	return ""
}

// shown is a command as a line for people.
func (s simple) shown() string {
	var words []string
	for _, w := range s.words {
		text := w.text
		if w.known && !w.glob && (text == "" || strings.ContainsAny(text, " \t\n'\"$&|;<>()*?[`\\")) {
			text = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
		words = append(words, text)
	}
	for _, in := range s.inputs {
		words = append(words, "< "+in.text)
	}
	for _, out := range s.outputs {
		words = append(words, "> "+out.text)
	}
	if n := len(s.layers); n > 0 {
		words = append(words, " (by "+s.layers[n-1].words[0].text+")")
	}
	return strings.Join(words, " ")
}
