package permission

import (
	"cmp"
	"regexp"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/web"
)

// Explanation explains a policy's decision on a call, part by part.
type Explanation struct {
	Tool      string       `json:"tool"`
	Call      string       `json:"call"` // the command, path or host
	Mode      Mode         `json:"mode"`
	Verdict   Verdict      `json:"effect"`
	Reason    string       `json:"reason"`
	Rule      string       `json:"rule"`      // the rule that decided, "" when the mode did
	Narrow    string       `json:"narrow"`    // the narrowest rule that would allow this very call; "" when none can
	Suggested string       `json:"suggested"` // a wider one; may equal Narrow
	Parts     []Part       `json:"parts"`     // the simple commands of a line; nil for other tools
	Missed    []MissedRule `json:"missed"`    // rules for the tool that do not cover the call
	// Place is where a line runs when it may: "host", "layer", "background", "sandbox" or
	// "read-only"; "" where nothing confines.
	Place   string   `json:"place,omitempty"`
	Reasons []Reason `json:"reasons,omitempty"` // those of the decision, as data
	// Hooks name the hooks that are asked before the call; they may decide otherwise.
	Hooks []string `json:"hooks,omitempty"`
}

// RuleInForce is a rule with where it stands.
type RuleInForce struct {
	Verdict Verdict `json:"effect"`
	Rule    string  `json:"rule"`
	Origin  string  `json:"origin"`
	Remark  string  `json:"remark,omitempty"` // an effect that its words leave open
	// Session means that it was allowed in this session, and can be dropped.
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

// CallFor reads a call as a rule for it is written, such as read(.env), web_fetch(go.dev) or
// mcp__db__query, with paths as tools see them. Anything else is a shell line.
func CallFor(text string, files *files.Files) (name string, access tool.Access, err error) {
	line := func(text string) (string, tool.Access, error) {
		return "bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: files.Dir(), Object: text}, nil
	}
	if serverTool.MatchString(text) {
		return text, serverCall(text), nil
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
	case kind == ruleHost:
		access = tool.Access{Kind: tool.KindNetwork, Object: strings.TrimPrefix(object, "domain:")}
		access.Host, err = web.HostOf(access.Object)
		return r.Tool, access, err
	case strings.HasPrefix(r.Tool, mcpPrefix):
		return r.Tool, serverCall(r.Tool), nil
	case kind == ruleNone:
		return r.Tool, tool.Access{Kind: tool.KindNone, Object: object}, nil
	}
	access = tool.Access{Kind: tool.KindRead, Object: object}
	if writes(r.Tool) {
		access.Kind = tool.KindWrite
	}
	place, err := files.Resolve(object, access.Kind == tool.KindWrite)
	if r.Tool == "read" {
		place, err = files.ResolveRead(object)
	}
	if err != nil {
		return "", access, err
	}
	access.Paths, access.Outside, access.Denied, access.Why = []string{place.Abs}, place.Outside, place.Denied, place.Why
	return r.Tool, access, nil
}

// Explain decides a call, and reports the decision's record.
func (p *Policy) Explain(name string, access tool.Access) Explanation {
	d := p.Decide(name, access)
	e := Explanation{Tool: name, Call: access.Object, Mode: p.Mode, Verdict: d.Verdict, Rule: d.Rule, Narrow: d.Narrow,
		Suggested: d.Suggested, Reason: cmp.Or(d.Reason(), "mode "+string(p.Mode)), Reasons: d.Reasons, Parts: d.Parts, Missed: d.Missed}
	if access.Kind == tool.KindRun && p.Confinement.Sandbox && d.Verdict != Refuse {
		e.Place = cmp.Or(string(d.Place), "host")
	}
	return e
}

// parsed is a shell line, parsed once for a decision.
type parsed struct {
	tool string // the tool that runs it
	text string // the line without blank space around it
	dir  string // where it runs

	parts   []*part // its commands: all, the certain ones, and those of them that need a rule
	sure    []*part
	rest    []*part
	problem string // why the shell may take the line in another way; "" for nothing
	reads   bool   // the line does nothing but read

	denies, mayDeny, asks *Rule // the first rule that denies the line, may deny it, or asks about it
}

// A part is one simple command of a line with the verdicts of the lists and the rules.
type part struct {
	line.Command
	reads   bool   // it is a read-only command
	unasked bool   // and as such needs no rule
	why     string // why a command of that list does more than read

	denies, mayDeny, asks, allows *Rule
	missed                        []MissedRule // rules that nearly allow or deny it
	destroys                      string       // the act that every mode asks about; set by alwaysAsked
}

func (p *Policy) parse(name string, access tool.Access) parsed {
	l := parsed{tool: name, text: trimLine(access.Command), dir: access.Dir}
	read := line.Parse(access.Command, access.Dir, p.Shell)
	l.problem = read.Problem
	_, denied := readGroup(p.DenyRules, name)
	for _, c := range read.Commands {
		s := &part{Command: c}
		if l.parts = append(l.parts, s); c.Certain {
			s.reads, s.why = p.check(c)
			row, _ := readOnlyRow(c.Name())
			s.unasked = s.reads && !p.NoProject && (!denied || row.has(pathless) || c.Name() == "cd")
			l.sure = append(l.sure, s)
			if !s.unasked {
				l.rest = append(l.rest, s)
			}
		}
	}
	l.reads = l.problem == "" && len(l.sure) > 0 && len(l.rest) == 0
	p.findDeny(&l)
	p.findAsk(&l)
	return l
}

// findDeny notes which rules deny or may deny the line, and which of its commands.
func (p *Policy) findDeny(l *parsed) {
	for _, r := range p.DenyRules {
		if r.namesWidely(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text)) {
			l.denies = first(l.denies, r)
		}
		for _, s := range l.parts {
			switch hit, unsure := p.speaksOf(r, l.tool, s.Command); {
			case hit:
				s.denies, l.denies = first(s.denies, r), first(l.denies, r)
			case unsure:
				s.mayDeny, l.mayDeny = first(s.mayDeny, r), first(l.mayDeny, r)
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, "the deciding word is not known in advance"})
			}
		}
	}
}

// findAsk notes which rules ask about the line and its commands: those that speak, or may
// speak, of a command which the user did not allow in this session.
func (p *Policy) findAsk(l *parsed) {
	for _, r := range p.AskRules {
		all := r.names(l.tool, tool.KindRun) && (!r.HasArg || r.is(l.text) || r.Arg == ReadGroup && l.reads)
		if all && len(l.parts) == 0 {
			l.asks = first(l.asks, r)
		}
		for _, s := range l.parts {
			hit, unsure := p.speaksOf(r, l.tool, s.Command)
			if (all || hit || unsure) && (r.Fixed || !p.commandCovered(p.session, l.tool, s.Command)) {
				s.asks, l.asks = first(s.asks, r), first(l.asks, r)
			}
		}
	}
}

// first is a rule that was found before, or else the one that is found now. One of the system's
// policy comes first.
func first(before *Rule, now Rule) *Rule {
	if before != nil && (before.Fixed || !now.Fixed) {
		return before
	}
	return &now
}

// findAllow notes which rules allow commands, and reports whether all that need one have one.
func (p *Policy) findAllow(l parsed, rules []Rule) (all bool) {
	all = l.problem == "" && len(l.rest) > 0
	for _, s := range l.parts {
		for _, r := range rules {
			yes, why := p.coversCommand(r, l.tool, s.Command)
			if yes {
				s.allows = &r
				break
			}
			if why != "" {
				s.missed = append(s.missed, MissedRule{r.String(), r.Origin, why})
			}
		}
		all = all && (!s.Certain || s.unasked || s.allows != nil)
	}
	return all
}

// Part is the part of a decision on one simple command of a line.
type Part struct {
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

// part is the part of the decision on one command of a line.
func (d Decision) part(s *part, name string, mode Mode) Part {
	made := Part{Text: s.String(), Missed: s.missed}
	is := func(verdict Verdict, rule *Rule, why string) Part {
		made.Verdict, made.Why = verdict, why
		if rule != nil {
			made.Rule, made.Origin = rule.String(), rule.Origin
		}
		return made
	}
	switch {
	case s.denies != nil:
		return is(Refuse, s.denies, "a deny rule speaks of it")
	case s.unasked:
		return is(Run, &Rule{Tool: name, Arg: ReadGroup, HasArg: true}, "it only reads")
	case mode == ModePlan && d.Verdict != Run:
		return is(Refuse, nil, "plan mode only reads, whatever the rules")
	case s.asks != nil && d.Verdict != Run:
		return is(Ask, s.asks, "an ask rule speaks of it")
	case s.destroys != "" && d.Verdict != Run:
		return is(Ask, nil, Reason{Code: AlwaysAsked, Object: s.destroys}.String())
	case s.allows != nil:
		return is(Run, s.allows, "an allow rule covers it")
	}
	why := "no rule covers it"
	if s.why != "" {
		why += ", and it does more than read: " + s.why
	}
	if d.Verdict == Run { // the whole line may run
		return is(Run, nil, strings.Trim(why+"; "+d.Reason(), "; "))
	}
	return is(Ask, nil, why)
}
