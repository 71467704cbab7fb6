package permission

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// Mode is the approval mode.
type Mode string

// The four modes. ModeAuto asks nothing that the sandbox confines; see Confinement.Auto
// for machines without layers.
const (
	ModeAsk   Mode = "ask"
	ModeEdits Mode = "edits"
	ModeAuto  Mode = "auto"
	ModePlan  Mode = "plan"
)

// Confinement is what can hold the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox  bool // commands can be confined
	Layer    bool // and every foreground line runs on a throwaway layer
	First    bool // a read-only command changes nothing: without layers system programs are tried so
	Auto     bool // without layers, mode auto runs a trusted project's programs in the sandbox
	Shows    bool // confined commands can read denied files
	Network  bool // confined commands reach the network, unless they are read-only
	Required bool // what cannot be confined is refused
}

// holds is what confines the commands now: denied files that they could read have
// every line asked about that does more than read.
func (p *Policy) holds() Confinement {
	can := p.Confinement
	if can.Shows && !can.Layer && (p.World.mayRead([]string{p.Root}, ".", true) != "" || p.TrackedSecret() != "") {
		can.First, can.Auto = false, false
	}
	return can
}

// trustAnswers reports whether trust in the project answers for a command that runs in
// the sandbox on the project itself.
func (p *Policy) trustAnswers() bool {
	can := p.holds()
	return p.TrustsPrograms && (can.Layer && p.Mode != ModeAsk || can.Auto && p.Mode == ModeAuto)
}

// Policy decides calls from the mode and the rules: deny over ask over allow,
// except that what the user allowed in this session beats an ask rule. It
// changes nothing.
// Not safe for concurrent use.
type Policy struct {
	Mode Mode
	// NoProject says there is no project: "/", the home directory, or root
	// outside a container. Every write and run is asked then.
	NoProject bool
	Root      string // the project root, absolute
	Dir       string // the working directory, absolute; "" is Root
	// Shell runs the lines, Confinement is what can hold them.
	Shell       line.Shell
	Confinement Confinement
	// AllowRules, AskRules and DenyRules are the user's.
	AllowRules, AskRules, DenyRules []Rule
	// World is what it can look at besides.
	World World
	// TrustsPrograms says that the project's own programs may run in the sandbox
	// without a question: the user trusts the project for it, or said so in this session.
	TrustsPrograms bool

	session []Rule
	kept    map[string][]string // what lines may change on a layer, approved in this session
	guarded *guardedOnce        // during one decision
}

// ForSubAgent is the policy of a sub-agent that begins now: the same mode and rules.
// What is allowed to it does not hold for p.
func (p *Policy) ForSubAgent() *Policy {
	own := *p
	own.session, own.kept = p.SessionRules(), maps.Clone(p.kept)
	own.AllowRules = slices.Clip(p.AllowRules)
	return &own
}

// SessionRules are the rules the user allowed in this session.
func (p *Policy) SessionRules() []Rule { return append([]Rule(nil), p.session...) }

// allowing are all rules that allow, those of this session first.
func (p *Policy) allowing() []Rule { return append(p.SessionRules(), p.AllowRules...) }

// AllowInSession adds an allow rule for the rest of the session, if it allows
// the call it was given for; the error says why it does not.
func (p *Policy) AllowInSession(rule, name string, access tool.Access) error {
	r, err := p.Covers(rule, name, access)
	if err == nil {
		p.session = append(p.session, p.inPlace(r, access))
	}
	return err
}

// inPlace is a rule given at a question, which speaks of the files as they are
// seen from where the call works.
func (p *Policy) inPlace(r Rule, access tool.Access) Rule {
	r.Origin = ofSession
	return r.bind(cmp.Or(access.Dir, p.workDir()), nil)
}

// workDir is where relative paths start.
func (p *Policy) workDir() string {
	return cmp.Or(p.Dir, p.Root)
}

// Bind fixes what the rules mean from here on: paths are seen from the working
// directory, and a script that an allow rule names is bound to its present
// content, or to the one that was approved before, which approved tells for a
// rule (nil for none; may be nil). Called once, when the rules are set.
func (p *Policy) Bind(approved func(rule string) *Approval) {
	for i, r := range p.AllowRules {
		then := &Approval{Dir: p.workDir()}
		if approved != nil {
			then = cmp.Or(approved(r.String()), then)
		}
		p.AllowRules[i] = r.bind(then.Dir, then.Scripts)
	}
	for _, rules := range [][]Rule{p.AskRules, p.DenyRules} {
		for i := range rules {
			rules[i].base = p.workDir()
		}
	}
}

// Approval is what a rule spoke of when it was approved for good: the directory
// its paths are seen from, and the contents of the scripts it names, by path.
type Approval struct {
	Dir     string            `json:"dir"`
	Scripts map[string]string `json:"scripts"`
}

// Covers reads a rule that has to allow a call.
func (p *Policy) Covers(rule, name string, access tool.Access) (Rule, error) {
	r, err := ParseRule(rule)
	if err != nil {
		return Rule{}, err
	}
	with := *p
	with.session = append(p.SessionRules(), p.inPlace(r, access))
	if with.Decide(name, access).Verdict != Run {
		return Rule{}, fmt.Errorf("the rule %s would not allow this call", r)
	}
	return r, nil
}

// deciding is the policy for one decision, throughout which git's configuration is
// what it was when first asked for.
func (p *Policy) deciding() *Policy {
	own := *p
	own.guarded = &guardedOnce{guard: p.World.Guard}
	return &own
}

// Decide says whether the call of the named tool may run, and where. It is called
// once for a call, and changes nothing.
func (p *Policy) Decide(name string, access tool.Access) Decision {
	p = p.deciding()
	switch {
	case access.Denied, access.Outside:
		return Decision{}.because(Refuse, Reason{Code: NotGranted, Object: access.Why})
	case access.Kind == tool.KindRun && access.To != "":
		return p.decideInput(name, access)
	case access.Kind == tool.KindRun:
		return p.decideRun(name, access)
	}
	d := Decision{}
	d.Narrow, d.Suggested = p.rulesFor(name, access)
	if r, ok := p.covered(p.DenyRules, name, access, false); ok {
		return Decision{}.by(Refuse, RuleDenies, r)
	}
	if p.Mode == ModePlan && access.Kind != tool.KindRead && access.Kind != tool.KindNone {
		return Decision{}.because(Refuse, Reason{Code: PlanMode})
	}
	if access.MovesSecret != "" {
		return Decision{}.because(Ask, Reason{Code: MovesSecret, Object: access.MovesSecret})
	}
	if r, ok := p.covered(p.session, name, access, true); ok {
		return d.by(Run, SessionAllows, r)
	}
	if r, ok := p.covered(p.AskRules, name, access, false); ok {
		return d.by(Ask, RuleAsks, r)
	}
	if r, ok := p.covered(p.AllowRules, name, access, true); ok {
		return d.by(Run, RuleAllows, r)
	}
	return p.byMode(d, access)
}

// byMode decides what no rule spoke of.
func (p *Policy) byMode(d Decision, access tool.Access) Decision {
	switch access.Kind {
	case tool.KindNone, tool.KindRead:
		return d.because(Run)
	case tool.KindNetwork:
		return d.because(Ask, Reason{Code: OtherHost, Object: tool.OwnHost(access.Host)})
	}
	why := p.writesForOthers(access)
	switch {
	case p.NoProject:
		return d.because(Ask, Reason{Code: NoProject})
	case why != "":
		return d.because(Ask, Reason{Code: AlwaysAsked, Object: why})
	case p.Mode == ModeEdits, p.Mode == ModeAuto:
		return d.because(Run, Reason{Code: ModeAllows, Object: string(p.Mode)})
	}
	return d.because(Ask)
}

// covered finds a rule for the paths or host of a call. An allow rule (all)
// must cover every path, a deny or ask rule any of them.
func (p *Policy) covered(rules []Rule, name string, access tool.Access, all bool) (Rule, bool) {
	for _, r := range rules {
		if !r.namesWidely(name, access.Kind) || all && (!r.names(name, access.Kind) || !p.coversOthersRun(r, access)) {
			continue
		}
		if access.Host != "" {
			if r.matchesHost(access.Host, !all) {
				return r, true
			}
			continue
		}
		if !r.HasArg {
			return r, true
		}
		hits := 0
		for _, path := range access.Paths {
			if r.matchesPath(p.Root, path, !all) {
				hits++
			}
		}
		if hits > 0 && (!all || hits == len(access.Paths)) {
			return r, true
		}
	}
	return Rule{}, false
}

// rulesFor are the narrowest rule for a call on files or hosts and a wider one.
func (p *Policy) rulesFor(name string, access tool.Access) (narrow, suggested string) {
	switch {
	case access.Host != "":
		r := ruleForHost(name, access.Host).String()
		return r, r
	case len(access.Paths) != 1:
		return name, name
	}
	path := p.below(access.Paths[0])
	if filepath.IsAbs(path) {
		path = "/" + path
	}
	narrow = Rule{Tool: name, Arg: escapePattern(path), HasArg: true}.String()
	dir := filepath.Dir(path)
	if dir == "." || dir == string(filepath.Separator) || p.writesForOthers(access) != "" { // the last asks git
		return narrow, narrow
	}
	return narrow, Rule{Tool: name, Arg: escapePattern(dir) + "/**", HasArg: true}.String()
}

// ModeError says that a mode cannot hold where artoo was started.
type ModeError struct{ Mode Mode }

// Error names the option and says why.
func (e *ModeError) Error() string {
	return "--approval " + string(e.Mode) + ": there is no project here, so every write and run is asked"
}

// ErrorKind is the kind of failure it is for the table of exit codes.
func (*ModeError) ErrorKind() string { return "usage" }

// ErrorHint names what helps.
func (*ModeError) ErrorHint() string { return "cd into a project directory, or --approval ask" }

// CheckMode refuses modes that cannot hold where there is no project; the error
// is a *ModeError.
func (p *Policy) CheckMode() error {
	if p.NoProject && (p.Mode == ModeEdits || p.Mode == ModeAuto) {
		return &ModeError{p.Mode}
	}
	return nil
}

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
	parsed, err := ParseRule(rule)
	for i, r := range p.session {
		if err == nil && r.String() == parsed.String() {
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

// ForgetSession takes back all that AllowInSession and KeepForLine added: another
// session begins.
func (p *Policy) ForgetSession() { p.session, p.kept = nil, nil }

// changedScript finds a rule that would cover a line if a script that it names had not
// changed since it was approved; at is that script, "" for none.
func (p *Policy) changedScript(l parsed) (rule, at string) {
	for _, r := range p.allowing() {
		changed := r.changed()
		if changed == "" {
			continue
		}
		r.bound = nil
		_, covers := p.exactly([]Rule{r}, l.tool, l.text, l.dir)
		if covers || slices.ContainsFunc(l.commands, func(s line.Command) bool { return p.commandCovered([]Rule{r}, l.tool, s) }) {
			return r.String(), p.below(changed)
		}
	}
	return "", ""
}
