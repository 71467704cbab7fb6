package permission

import (
	"cmp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool/sandbox"
)

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

// The classes of permission.md, section 5.
const (
	Nothing     Class = iota
	Output            // ignored build output of the project's own programs
	Bookkeeping       // staging and new branches
	Content           // files, commits
	Uncommitted       // the user's uncommitted work, deleted or reverted
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
	OwnPrograms     Code = "own-programs"      // the line runs the project's own programs
	OnLayer         Code = "on-layer"          // the effects are judged afterwards
	TriedFirst      Code = "tried-first"       // the line runs read-only, and an attempt to write is asked about
	TriedToWrite    Code = "tried-to-write"    // the line ran read-only, and Object is why it has to do more
	GoesOn          Code = "goes-on"           // the command goes on, on the project itself
	TypedInput      Code = "typed-input"       // a text for a background command
	NotKept         Code = "not-kept"          // the journal cannot hold Object
	ReadingDenied   Code = "reading-denied"    // a rule takes away unasked reading
	KeptForLine     Code = "kept-for-line"     // the same was approved for this line
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
	RuleDenies:     "the rule deny RULE",
	RuleMayDeny:    "the commands that it runs are not known beforehand, and the rule deny RULE may speak of them",
	RuleAsks:       "the rule ask RULE",
	RuleAllows:     "the rule allow RULE",
	RulesAllow:     "every command in it is allowed by a rule",
	SessionAllows:  "allowed in this session by RULE",
	ScriptChanged:  "OBJECT has changed since it was allowed by RULE",
	ModeAllows:     "mode OBJECT",
	PlanMode:       "plan mode changes nothing",
	NoProject:      "there is no project here",
	NotParsed:      "OBJECT, so only a rule for this very line or for every command covers it",
	AlwaysAsked:    "asked in every mode: OBJECT",
	MovesSecret:    "asked in every mode: OBJECT",
	Outside:        "runs outside the sandbox (network, keys, home): OBJECT",
	OwnPrograms:    "it runs the project's own programs: OBJECT",
	OnLayer:        "its changes are judged afterwards",
	TriedFirst:     "it runs read-only first",
	TriedToWrite:   "it ran read-only, and OBJECT",
	GoesOn:         "it goes on in the background, on the project itself",
	TypedInput:     "text typed to a command may run anything",
	NotKept:        "this could not be undone: OBJECT",
	ReadingDenied:  "the rule deny RULE lets nothing run unasked",
	KeptForLine:    "the same was approved for this line",
	ChangedNothing: "it changed nothing",
	TookTooLong:    "judging it took too long: OBJECT",
	NotReplayed:    "git's changes cannot be applied",
	HookDenies:     "the hook OBJECT",
	HookFailed:     "the hook OBJECT",
	HookAsks:       "asked by the hook OBJECT",
	HookAllows:     "allowed by the hook OBJECT",
	NothingOutside: "nothing runs outside the sandbox in a run on a layer or with caps on effects",
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
	Covers  Class       // the strictest effects that rules have approved beforehand
	// Builds means that ignored files of the line are output: it only builds and reads.
	Builds  bool
	Git     bool     // the line runs git
	Reasons []Reason // the one that decided first
	// Keep are absolute paths. Once the journal holds them, a command whose verdict is Ask may run.
	Keep []string

	Parts  []Part       // the simple commands of a line; nil for other tools
	Missed []MissedRule // allow rules for the tool that do not cover the call

	Rule      string // the rule that decided, "" when the mode did
	Narrow    string // the narrowest rule that would allow this very call; "" when none can
	Suggested string // a wider one that a user may want; may equal Narrow
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
	switch {
	case d.Has(OwnPrograms):
		return OwnPrograms
	case len(d.Reasons) > 0:
		return d.Reasons[0].Code
	}
	return ""
}

// because is the decision with a verdict and the reasons for it.
func (d Decision) because(v Verdict, reasons ...Reason) Decision {
	d.Verdict, d.Reasons = v, reasons
	for _, r := range reasons {
		d.Rule = cmp.Or(d.Rule, r.Rule)
	}
	return d
}

// by is because for the rule that decided.
func (d Decision) by(v Verdict, code Code, r Rule) Decision {
	reason := Reason{Code: code, Rule: r.String()}
	if r.Fixed {
		reason.Policy = r.Origin
	}
	return d.because(v, reason)
}
