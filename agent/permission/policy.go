// Package permission decides which calls of tools run, and where. Policy.Decide has the rules
// before a call, in the order in which they count: for files and hosts, for shell lines, for
// text typed to a running command. Judge has those for the effects of a line on a layer.
package permission

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/sandbox"
	"artoo/tool/web"
)

// Policy decides calls from the mode and the rules: deny over ask over allow, except that a permission of
// this session beats an ask rule. It changes nothing. It is not safe for concurrent use.
type Policy struct {
	Mode Mode
	// NoProject says why there is no project: "/", the home directory or one above it. "" where there is one.
	NoProject string
	Root      string // the project root, absolute
	Dir       string // the working directory, absolute; "" is Root
	// Shell runs the lines, Confinement can hold them.
	Shell       line.Shell
	Confinement Confinement
	// AllowRules, AskRules and DenyRules are the user's.
	AllowRules, AskRules, DenyRules []Rule
	World
	// TrustsPrograms means that the project's own programs may run in the sandbox
	// without a question: the user trusts the project for it, or said so in this session.
	TrustsPrograms bool
	Ceiling
	// Seen knows when a rule for outside has to ask again. nil means that nothing has changed.
	Seen *Seen

	session []Rule
	guarded func(path string, link bool) string // why a file is guarded; set during one decision
}

// Mode is the approval mode.
type Mode string

// The four modes. ModeAuto is ModeEdits with trust in the project's own programs.
const (
	ModeAsk   Mode = "ask"
	ModeEdits Mode = "edits"
	ModeAuto  Mode = "auto"
	ModePlan  Mode = "plan"
)

// Confinement describes the walls around the commands of a session. The zero value is
// nothing: all run on the host.
type Confinement struct {
	Sandbox  bool // commands can be confined
	Layer    bool // and every foreground line runs on a throwaway layer
	ByEntry  bool // without layers it holds writes entry by entry: guarded files are read-only in it
	External bool // the user says that the machine is the sandbox: lines run unconfined, where no layer is there
	Network  bool // confined commands reach the network, unless they are read-only
	Proxy    bool // with Layer: a line can reach hosts that were named for it, and nothing else
	Required bool // calls that cannot be confined are refused
	// Layered means that artoo itself works on a layer over the project, and with Layer alone: writes need no
	// approval except in guarded files, nothing runs outside, and git's data is read-only.
	Layered bool
	// Capped means that the changes of the run are capped: commands run on layers alone, in the background too.
	Capped bool
	// Lost is why the sandbox that there was is gone; "" where none was lost.
	Lost string
}

// Inside reports whether nothing may run outside the sandbox.
func (c Confinement) Inside() bool { return c.Layered || c.Capped }

// Binding reports whether a call must not run where its place cannot be had.
func (c Confinement) Binding() bool { return c.Required || c.Inside() }

// Ceiling lists the things that the system's policy forbids whatever the user chooses. The zero value forbids
// nothing.
type Ceiling struct {
	// Modes are those that may be chosen besides ModePlan, which only reads; nil for all. ModesAt
	// is the place in the policy, for messages.
	Modes   []Mode
	ModesAt string
	// NoTrust is the place in the policy where no project is trusted; "" where some may be.
	NoTrust string
}

// Forbids reports whether the mode may not be chosen.
func (c Ceiling) Forbids(mode Mode) bool {
	return c.Modes != nil && mode != ModePlan && !slices.Contains(c.Modes, mode)
}

// SessionRules are the rules the user allowed in this session.
func (p *Policy) SessionRules() []Rule { return append([]Rule(nil), p.session...) }

// allowing are all rules that allow, those of this session first.
func (p *Policy) allowing() []Rule { return append(p.SessionRules(), p.AllowRules...) }

// writesFreely reports whether file tools write files that are not guarded unasked.
func (p *Policy) writesFreely() bool {
	return p.Mode == ModeEdits || p.Mode == ModeAuto || p.Confinement.Layered && p.Mode != ModePlan
}

// deciding is the policy for one decision, which looks at git's configuration and for denied
// files once.
func (p *Policy) deciding() *Policy {
	own := *p
	own.guarded = p.Guard.once()
	if own.Files != nil {
		own.denied = sync.OnceValues(own.Files.Denied)
	}
	return &own
}

// Verdict is the decision on a call, or on a line's changes.
type Verdict string

// The verdicts. Their texts are the words of rules and of JSON.
const (
	Run    Verdict = "allow"
	Ask    Verdict = "ask"
	Refuse Verdict = "deny"
)

// Place is where a command runs. Calls that run no command have PlaceHost.
type Place = sandbox.Place

// The places, as package sandbox describes them.
const (
	PlaceHost       = sandbox.PlaceHost
	PlaceReadOnly   = sandbox.PlaceReadOnly
	PlaceLayer      = sandbox.PlaceLayer
	PlaceBackground = sandbox.PlaceBackground
	PlaceSandbox    = sandbox.PlaceSandbox
	PlaceDiscarded  = sandbox.PlaceDiscarded
)

// Class sorts effects, the mildest first. The strictest one of a line decides about it.
type Class int

// The classes of effects.
const (
	Nothing     Class = iota
	Output            // ignored build output of the project's own programs
	Bookkeeping       // staging and new branches
	Content           // files, commits
	Loss              // neither git nor the journal could bring it back
	Guarded           // files that are executed or obeyed automatically
	Forbidden         // never applied
)

// Code is the kind of a reason. Code compares codes; Reason.String makes the words.
type Code string

// The codes of reasons.
const (
	ReadsOnly       Code = "reads-only"        // the command only reads
	RuleDenies      Code = "rule-denies"       // Rule denies the call
	RuleMayDeny     Code = "rule-may-deny"     // Rule may deny a word that is not known beforehand
	RuleAsks        Code = "rule-asks"         // Rule asks about the call
	RuleAllows      Code = "rule-allows"       // Rule allows the call
	RulesAllow      Code = "rules-allow"       // rules allow every command of a line
	SessionAllows   Code = "session-allows"    // Rule was allowed in this session
	ScriptChanged   Code = "script-changed"    // Object changed since Rule was given
	ModeAllows      Code = "mode-allows"       // the mode asks nothing here
	PlanMode        Code = "plan-mode"         // the mode is plan
	NoProject       Code = "no-project"        // there is no project
	NotGranted      Code = "not-granted"       // the path is denied or was not granted
	MovesSecret     Code = "moves-secret"      // a secret would not stay as it is
	OtherHost       Code = "other-host"        // the call reaches a host
	NotParsed       Code = "not-parsed"        // the shell may take the line in another way
	MoreThanReading Code = "more-than-reading" // a read-only command is used otherwise
	AlwaysAsked     Code = "always-asked"      // Object is asked about in every mode
	Outside         Code = "outside"           // the line leaves the sandbox
	NeedsHosts      Code = "needs-hosts"       // the line reaches hosts that no rule lists
	OwnPrograms     Code = "own-programs"      // the line runs the project's own programs
	OnLayer         Code = "on-layer"          // the effects are judged afterwards
	GoesOn          Code = "goes-on"           // the command goes on, on the project itself
	TypedInput      Code = "typed-input"       // a text for a background command
	NotKept         Code = "not-kept"          // the journal cannot hold Object
	FilesChanged    Code = "files-changed"     // artoo or its lines changed files since the last yes to Rule
	ChangedNothing  Code = "changed-nothing"   // the line changed nothing
	EffectsAsked    Code = "effects-asked"     // Object, of the class that decides, is asked about
	NeverApplied    Code = "never-applied"     // Object is forbidden
	TookTooLong     Code = "took-too-long"     // Object was not judged in time
	HookDenies      Code = "hook-denies"       // the hook Object denies the call
	HookFailed      Code = "hook-failed"       // the hook Object failed, which denies the call
	HookAsks        Code = "hook-asks"         // the hook Object asks about the call
	HookAllows      Code = "hook-allows"       // the hook Object allows the call
	NotReplayed     Code = "not-replayed"      // git cannot make Object again, and nothing lands without it
	ServerTool      Code = "server-tool"       // the call is one of a tool of the MCP server Object
	NothingOutside  Code = "nothing-outside"   // the run works on a layer, or its effects are capped, and nothing runs outside the sandbox
	FixedHere       Code = "fixed-here"        // the run works on a layer, and Object is read-only there
	ToolChanged     Code = "tool-changed"      // the MCP server Object has changed the tool's definition
)

// Reason is one reason of a decision, as data. Only String makes words of it.
type Reason struct {
	Code   Code   `json:"code"`
	Rule   string `json:"rule,omitempty"`   // the rule that it speaks of
	Part   string `json:"part,omitempty"`   // the simple command of a line
	Object string `json:"object,omitempty"` // a path, host, program or other object
	Policy string `json:"policy,omitempty"` // where the rule stands in the system's policy
}

// sentences are the reasons in words, with RULE and OBJECT. The others are their object.
var sentences = map[Code]string{
	ReadsOnly:      "it only reads",
	RuleDenies:     "the deny rule RULE",
	RuleMayDeny:    "the commands that it runs are not known beforehand, and the deny rule RULE may cover them",
	RuleAsks:       "the ask rule RULE",
	RuleAllows:     "the allow rule RULE",
	RulesAllow:     "every command in it is allowed by a rule",
	SessionAllows:  "allowed in this session by RULE",
	ScriptChanged:  "OBJECT has changed since it was allowed by RULE",
	ModeAllows:     "mode OBJECT",
	PlanMode:       "plan mode changes nothing",
	NoProject:      "this is not a project: OBJECT",
	NotParsed:      "OBJECT, so only a rule for exactly this line, or for every command, covers it",
	AlwaysAsked:    "artoo asks in every mode: OBJECT",
	MovesSecret:    "artoo asks in every mode: OBJECT",
	Outside:        "runs outside the sandbox (network, keys, home): OBJECT",
	NeedsHosts:     "it reaches OBJECT",
	OwnPrograms:    "this runs the project's own programs: OBJECT",
	OnLayer:        "artoo checks its changes afterwards",
	GoesOn:         "it runs in the background, directly on the project",
	TypedInput:     "input to a running command may run anything",
	NotKept:        "this could not be undone: OBJECT",
	FilesChanged:   "files were changed here since the last yes to RULE",
	ChangedNothing: "it changed nothing",
	TookTooLong:    "checking it took too long: OBJECT",
	NotReplayed:    "git's changes cannot be applied",
	HookDenies:     "the hook OBJECT",
	HookFailed:     "the hook OBJECT",
	HookAsks:       "asked by the hook OBJECT",
	HookAllows:     "allowed by the hook OBJECT",
	NothingOutside: "a run on a layer, or with caps on its changes, runs nothing outside the sandbox",
	FixedHere:      "OBJECT is read-only while artoo works on a layer",
	NeverApplied:   "none of its changes can be applied",
	ServerTool:     "no rule allows this tool of the MCP server OBJECT",
	ToolChanged:    "the MCP server OBJECT has changed this tool's definition, so no rule covers it until artoo mcp accept OBJECT",
}

// String is the reason in words, for people and, where a call is refused, the model.
func (r Reason) String() string {
	text, ok := sentences[r.Code]
	if !ok {
		return r.Object
	}
	text = strings.NewReplacer("RULE", r.Rule, "OBJECT", r.Object).Replace(text)
	if r.Policy != "" {
		text += " (" + r.Policy + ")"
	}
	return text
}

// Decision is a policy's word on one call.
type Decision struct {
	Verdict Verdict
	Place   Place       // where a command runs if it may
	Needs   []line.Need // why it has to run on the host; nil elsewhere
	Own     []string    // the project's own programs that the line runs
	Hosts   []Host      // that a line in the sandbox may reach; nil for no network
	// Files are texts of files in the home, by their paths, that tell the line's package managers of registries of the
	// user's.
	Files  map[string]string
	Covers Class // the strictest effects that rules have approved beforehand
	// Builds means that ignored files of the line are output: it only builds and reads.
	Builds bool
	// Installs are the directories into which the line installs packages, where it does nothing else: what git ignores
	// in them is output.
	Installs string
	Git      bool     // the line runs git
	Reads    bool     // the line does nothing but read, by the reading table: it may run beside other calls
	Reasons  []Reason // the one that decided first
	// Keep are absolute paths. Once the journal holds them, a command whose verdict is Ask may run.
	Keep []string

	Parts []Part // the simple commands of a line; nil for other tools

	Rule      string // the rule that decided, "" when the mode did
	Narrow    string // the narrowest rule that would allow this very call; "" when none can
	Suggested string // a wider one that a user may want; may equal Narrow
}

// Part is the part of a decision on one simple command of a line.
type Part struct {
	Text    string  `json:"text"`
	Verdict Verdict `json:"effect"`
	Why     string  `json:"why"`
	Rule    string  `json:"rule"`   // "" when no rule spoke
	Origin  string  `json:"origin"` // where the rule stands
}

// Reason is all reasons in words; "" for none.
func (d Decision) Reason() string { return words(d.Reasons) }

// words joins the texts of reasons, each once; of the same code only the objects follow.
func words(reasons []Reason) string {
	var texts []string
	for i, r := range reasons {
		text := r.String()
		if i > 0 && r.Code == reasons[i-1].Code && r.Object != "" {
			text = r.Object
		}
		if text != "" && !slices.Contains(reasons[:i], r) {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "; ")
}

// Has reports whether a reason with this code is among those of the decision.
func (d Decision) Has(code Code) bool {
	return slices.ContainsFunc(d.Reasons, func(r Reason) bool { return r.Code == code })
}

// Cause is the reason that decided; OwnPrograms where that is among the reasons, since
// trust in the project answers it. It is "" without reasons.
func (d Decision) Cause() Code {
	if d.Has(OwnPrograms) {
		return OwnPrograms
	}
	return append(d.Reasons, Reason{})[0].Code
}

// because is the decision with a verdict and the reasons for it.
func (d Decision) because(v Verdict, reasons ...Reason) Decision {
	d.Verdict, d.Reasons = v, reasons
	for _, r := range reasons {
		d.Rule = cmp.Or(d.Rule, r.Rule)
	}
	return d
}

// covering is the decision of a rule that approves effects up to a class beforehand.
func (d Decision) covering(c Class) Decision {
	d.Covers = c
	return d
}

// by is because with a rule as the reason.
func (d Decision) by(v Verdict, code Code, r Rule) Decision {
	reason := Reason{Code: code, Rule: r.String()}
	if r.Fixed {
		reason.Policy = r.Origin
	}
	return d.because(v, reason)
}

// Rule names a set of calls: a tool, or a tool and its input.
//
//	bash                     every command; bash(*) is the same
//	bash(go test ./...)      this very command
//	bash(go test:*)          commands that begin with these words
//	bash(git * main)         * as a word is any words, within one any characters
//	bash!(npm ci)            outside the sandbox; without a sandbox the same as bash(npm ci)
//	write(docs/**)           files, relative to the project root
//	write(./docs/**)         relative to the working directory
//	read(~/notes/**)         a whole path; //etc/** is one too
//	web_fetch(go.dev)        a host on every port; *.go.dev those below it
//	web_fetch(wiki.lan:443)  this very server, also at an address that is not public
//	hosts(@npm)              for lines in the sandbox: the hosts of a set
//	hosts(a.example for LINE)  hosts for a line, as in a rule for bash
//	mcp__db__*               tools whose name begins so
//
// A rule for read or write speaks for every tool of that kind.
type Rule struct {
	Tool   string
	Arg    string
	HasArg bool
	// Outside means that a rule for commands lets them run outside the sandbox too.
	Outside bool
	// Origin is where the rule stands, in words ("--allow", "config.toml line
	// 4"); "" where that is not known.
	Origin string
	// Fixed means that a rule which asks stands in the system's policy: no rule of this session
	// answers it. A rule that was given is the answer to a question.
	Fixed, given bool

	base  string            // directory its paths are seen from; "" is the working directory
	bound map[string]string // content of the scripts it names, by path; see bind
}

// RuleError describes a faulty rule. Try is one that could have been meant, "" where none is near.
type RuleError struct{ Rule, Why, Try string }

// Error names the rule and its fault, with a rule that could have been meant.
func (e *RuleError) Error() string {
	text := fmt.Sprintf("rule %.200s: %s", e.Rule, e.Why)
	if e.Try != "" {
		text += ", did you mean " + e.Try + "?"
	}
	return text
}

// String is the rule as it is written, with artoo's own name of the tool.
func (r Rule) String() string {
	name := r.Tool
	if r.Outside {
		name += "!"
	}
	if !r.HasArg {
		return name
	}
	return name + "(" + r.Arg + ")"
}

// names reports whether the rule speaks of the tool.
func (r Rule) names(name string, kind tool.Kind) bool {
	prefix, wild := strings.CutSuffix(r.Tool, "*")
	return wild && strings.HasPrefix(name, prefix) || r.Tool == name || r.Tool == "read" && kind == tool.KindRead ||
		r.Tool == "write" && kind == tool.KindWrite || strings.HasPrefix(r.Tool, mcpPrefix) &&
		strings.HasPrefix(name, r.Tool+"__")
}

// matchesPath reports whether the rule covers an absolute path of the project at root. For deny and ask
// rules (wide) a name counts at any depth, a directory for all beneath it, and case as files have it. home is ~.
func (r Rule) matchesPath(root, home, file string, wide bool) bool {
	if !r.HasArg {
		return true
	}
	globs := r.globs(root, home, wide)
	for at := filepath.ToSlash(file); ; at = path.Dir(at) {
		if files.MatchesGlob(globs, at, wide) {
			return true
		}
		if up := path.Dir(at); !wide || up == at || up == "." {
			return false
		}
	}
}

// MatchesPath reports whether the rule, one for files, covers an absolute path of the project at root. home is ~ in
// it.
func (r Rule) MatchesPath(root, home, file string) bool {
	return r.matchesPath(root, home, file, false)
}

// Hides is the pattern of the files that the rule hides as one that denies; "" for none.
func (r Rule) Hides() string {
	if r.Tool != "read" {
		return ""
	}
	return r.Arg
}

// globs are the patterns of a rule for files, as whole paths with slashes.
func (r Rule) globs(root, home string, wide bool) []string {
	return files.PathGlobs(r.Arg, root, r.seenFrom(root), home, wide)
}

// seenFrom is the directory that paths of the rule are relative to.
func (r Rule) seenFrom(root string) string {
	return cmp.Or(r.base, root)
}

// matchesHost reports whether the rule covers a host: itself, or with *. those below it, on every port
// unless it names one; wide: both. A rule for all hosts allows none of private networks.
func (r Rule) matchesHost(at string, wide bool) bool {
	if !r.HasArg {
		return wide || web.Own(at) == ""
	}
	host, port := web.SplitHost(strings.ToLower(at))
	expected, expectedPort := web.SplitHost(r.Arg)
	host = strings.TrimSuffix(host, ".")
	suffix, below := strings.CutPrefix(expected, "*.")
	return (expectedPort == "" || expectedPort == port) && (host == expected || wide && strings.HasSuffix(host,
		"."+expected) ||
		below && (strings.HasSuffix(host, "."+suffix) || wide && host == suffix))
}

// namesServer reports whether the rule allows a host wherever it is: by its port, or a private name.
func (r Rule) namesServer(at string) bool {
	_, port := web.SplitHost(r.Arg)
	return r.HasArg && !strings.HasPrefix(r.Arg, "*") && (port != "" || web.Own(r.Arg) != "") &&
		r.matchesHost(at, false)
}

// ruleForHost is the narrowest rule for a host. The port counts for private addresses alone.
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

// mcpPrefix begins the names of the tools of MCP servers: mcp__SERVER__TOOL.
const mcpPrefix = "mcp__"
