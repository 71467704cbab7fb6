// Package extension has the kinds of extensions and their origins, and the types of those that settings, bundles,
// editors and repositories declare as data: MCP servers and hooks. It starts nothing.
package extension

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Source is the supplier of an extension.
type Source string

// The sources, as extending.md, section 1, has them.
const (
	SourceUser       Source = "user"       // the user's file, directories or flags
	SourcePolicy     Source = "policy"     // /etc/artoo/policy.toml
	SourceEditor     Source = "editor"     // an editor, for its session
	SourceBundle     Source = "bundle"     // a plugin bundle that the user added
	SourceRepository Source = "repository" // the repository, if its settings are trusted
)

// ThirdParty reports whether an extension of this source is confined and may only tighten.
func (s Source) ThirdParty() bool {
	return s == SourceEditor || s == SourceBundle || s == SourceRepository
}

// Origin is where an extension stands.
type Origin struct {
	Source Source
	Bundle string // the bundle's name; "" for other sources
	Root   string // the absolute directory of the bundle, repository or editor's project; "" for other sources
	Place  string // Messages name it: "config.toml line 7", ".mcp.json"
}

// Full is the name of an extension for all that use it: BUNDLE:NAME in a bundle.
func (o Origin) Full(name string) string {
	return strings.TrimPrefix(o.Bundle+":"+name, ":")
}

// Kind is the purpose of an extension.
type Kind string

// The kinds.
const (
	KindServer  Kind = "server"
	KindHook    Kind = "hook"
	KindSkill   Kind = "skill"
	KindCommand Kind = "command"
	KindAgent   Kind = "agent"
)

// FileKinds are those with a file each: NAME/SKILL.md of a skill, DIR/NAME.md of a command, which /DIR:NAME calls, and
// NAME.md of an agent.
func FileKinds() []Kind { return []Kind{KindSkill, KindCommand, KindAgent} }

// Dir is the name of a directory of extensions of the kind.
func (k Kind) Dir() string { return string(k) + "s" }

// Extension is a server or a hook as questions show it and approvals cover it.
type Extension struct {
	Kind Kind
	// Name is a server's name, or the event of a hook with the calls that it is about.
	Name string
	// Command is the whole command, or the address. Details are its variables and Files, a row each.
	Command string
	Details []string
	Origin

	// Whole is the Server or Hook without its origin: an approval covers all of it.
	Whole any
	// Texts and Dir, the directory that it starts in, may name files of the project.
	Texts []string
	Dir   string
	// Sum is the SHA-256 of Whole and of Files, in hex. Both are empty until the extension is summed.
	// Files are those of the project that it names, relative to Root.
	Sum   string
	Files []string
}

// Server is an MCP server: a command or an address. Its JSON is part of stored approvals.
type Server struct {
	Name string // [a-z0-9_-]{1,24}, in a bundle BUNDLE:NAME
	Origin
	About string // the user's description for the model; may be ""

	// Command is the program with its arguments, as exec takes them; nil for a URL.
	Command []string
	Dir     string            // the directory that it starts in, absolute; "" is the project's root
	Env     map[string]string // variables, in which ${VAR} and ${VAR:-default} are replaced at the start
	PassEnv []string          // names of variables that it gets as they are

	URL     string            // the address of an HTTP server; "" for a command
	SSE     bool              // the old transport of 2024-11-05
	Headers map[string]string // Variables are replaced as in Env.
	// TokenEnv is a variable, TokenCommand a command line whose first line of output is the bearer
	// token. Without either the server's OAuth is used.
	TokenEnv     string
	TokenCommand string
	// ClientID is an OAuth client that is registered already, with a secret from a variable or a command as the token's;
	// CallbackPort is the port on 127.0.0.1 of its redirect address, 0 for any.
	ClientID, ClientSecretEnv string
	ClientSecretCommand       string `json:",omitempty"` // Approvals of servers without it stay valid.
	CallbackPort              int

	Tools  []string // globs of the tools that are offered, - excludes; nil offers all
	Read   []string // globs of tools that only read, says the user
	Direct []string // globs of tools that are offered as functions
	// Timeout is the longest silence of a call, TimeoutMax its longest time; 0 is 60 s and 30 min.
	Timeout, TimeoutMax time.Duration
	Required            bool // No run without it.
	Confine             bool // A server of a third party is confined in any case.
	// Hosts are those that it may reach, confined, in place of the whole network, as a rule for hosts names them; nil for
	// the whole.
	Hosts []string `json:",omitempty"` // Approvals of servers without it stay valid.
}

// Confined reports whether the server's process runs in the sandbox.
func (s Server) Confined() bool { return s.Confine || s.Hosts != nil || s.Source.ThirdParty() }

// Extension is the server as people approve it.
func (s Server) Extension() Extension {
	e := Extension{Kind: KindServer, Name: s.Name, Command: s.URL, Origin: s.Origin, Dir: s.Dir,
		Texts: slices.Concat(slices.Collect(maps.Values(s.Env)), []string{s.TokenCommand}, s.Command)}
	if s.URL == "" {
		e.Command = strings.Join(s.Command, " ")
	}
	for _, set := range []map[string]string{s.Env, s.Headers} {
		for name, value := range set {
			e.Details = append(e.Details, name+" = "+value)
		}
	}
	slices.Sort(e.Details)
	e.pass(s.PassEnv)
	if s.TokenCommand != "" {
		e.Details = append(e.Details, "its token comes from "+s.TokenCommand)
	}
	s.Origin = Origin{}
	e.Whole = s
	return e
}

// pass notes the variables that an extension gets as they are.
func (e *Extension) pass(variables []string) {
	if variables != nil {
		e.Details = append(e.Details, "it gets the variables "+strings.Join(variables, ", "))
	}
}

// Event is a moment at which hooks run.
type Event string

// The events, in the order of a session.
const (
	SessionStart  Event = "session_start"
	OnMessage     Event = "message"
	BeforeTool    Event = "before_tool"
	OnQuestion    Event = "question"
	AfterTool     Event = "after_tool"
	OnStop        Event = "stop"
	OnAgentStop   Event = "agent_stop"
	BeforeCompact Event = "before_compact"
	OnNotify      Event = "notify"
	SessionEnd    Event = "session_end"
)

// Events are all events, in the order of a session.
func Events() []Event {
	return []Event{SessionStart, OnMessage, BeforeTool, OnQuestion, AfterTool, OnStop, OnAgentStop, BeforeCompact, OnNotify, SessionEnd}
}

// Blocking reports whether a failure of a hook on this event denies the guarded act.
func (e Event) Blocking() bool { return slices.Contains([]Event{BeforeTool, OnMessage, OnQuestion}, e) }

// OfTool reports whether the event is about the call of a tool.
func (e Event) OfTool() bool { return e == BeforeTool || e == OnQuestion || e == AfterTool }

// Hook is a command that runs at an event. Its JSON is part of stored approvals.
type Hook struct {
	Origin
	On    Event
	Match []string // rules of permissions; nil matches every call
	// Matcher is Claude Code's: names of its tools between bars, or a regular expression; for events
	// without a tool it is about their source, trigger or kind. "" and "*" match everything.
	Matcher string
	// Command is the program with its arguments, as exec takes them; Line is a shell line instead.
	Command []string
	Line    string
	PassEnv []string      // names of variables that it gets as they are
	Timeout time.Duration // 0 is 30 s, 60 s in Claude Code's form, 1 s for SessionEnd
	Claude  bool          // Input and output have Claude Code's form.
	Warn    bool          // A failure warns and denies nothing: that is Claude Code's form, and the user's own file may say so.
	Async   bool          // No one waits for it, and its answer does not count.
	// MayAnswer makes its yes to a question the user's own.
	MayAnswer bool
}

// Extension is the hook as people approve it.
func (h Hook) Extension() Extension {
	e := Extension{Kind: KindHook, Name: string(h.On), Command: h.String(), Origin: h.Origin,
		Texts: append([]string{h.Line}, h.Command...)}
	if calls := h.Calls(); calls != "" {
		e.Name += " of " + calls
	}
	e.pass(h.PassEnv)
	h.Origin = Origin{}
	e.Whole = h
	return e
}

// String is the command as it was written.
func (h Hook) String() string {
	if h.Line != "" {
		return h.Line
	}
	return strings.Join(h.Command, " ")
}

// Calls names the calls or kinds that the hook is about, "" for all: one that has a matcher and rules is about those that
// both take.
func (h Hook) Calls() string {
	both := slices.DeleteFunc([]string{strings.TrimSpace(h.Matcher), strings.Join(h.Match, "|")}, func(s string) bool { return s == "" })
	return strings.Join(both, " and ")
}

// Limit is the hook's time limit.
func (h Hook) Limit() time.Duration {
	switch {
	case h.Timeout > 0:
		return h.Timeout
	case h.On == SessionEnd:
		return time.Second
	case h.Claude:
		return time.Minute
	}
	return 30 * time.Second
}
