package ui

import (
	"context"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/ui/doctor"
)

// Sender runs turns; *agent.Agent is one.
type Sender interface {
	SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error)
	// Kill kills what an interrupted turn left running. It is called from any
	// goroutine.
	Kill()
}

// Deps is what the slash commands need of the rest of artoo. Main fills it. All
// funcs are called between turns, by the goroutine that runs Terminal.Run; a
// nil one makes its command say that it is not to be had here. Those that list
// things are called to complete a line too, while its prompt stands. Texts they
// return may come from outside: they are sanitised before they are shown.
type Deps struct {
	// Sessions lists the sessions of this directory, newest first.
	Sessions func() ([]conversation.Info, error)
	// Resume goes on with the session whose id begins with id.
	Resume func(id string) (*agent.Resumed, error)
	// Clear begins a new session and returns the id of the old one, "" if it
	// was not kept.
	Clear func() (old string, err error)
	// Model is the provider and model that answer now, as "provider/model".
	Model func() string
	// SwitchModel changes the model, and the provider if name has one before a
	// slash. What it returns is shown: the model that answers from now on.
	SwitchModel func(ctx context.Context, name string) (string, error)
	// Models lists the models known of the present provider, without asking it.
	Models func() []Choice
	// ListModels asks the provider first. The error says why it could not be
	// asked; the list then is that of Models. nil where there is no asking.
	ListModels func(ctx context.Context) ([]Choice, error)
	// Providers lists the providers that could answer.
	Providers func() ([]Choice, error)
	// SwitchProvider changes to a provider's default model, and returns as
	// SwitchModel does.
	SwitchProvider func(ctx context.Context, name string) (string, error)
	// Effort sets the reasoning effort and returns what is set now; with nil it
	// only says. "" leaves it to the model.
	Effort func(set *provider.Effort) provider.Effort
	// Mode is the approval mode, SetMode changes it; the error says why it
	// cannot hold here.
	Mode    func() permission.Mode
	SetMode func(mode permission.Mode) error
	// DropRule takes back a rule that was allowed in this session.
	DropRule func(rule string) error
	// Fork goes on in a copy of the present session, and returns the ids of the
	// two.
	Fork func() (old, now string, err error)
	// Status tells where things stand.
	Status func() []Choice
	// Answer is the model's answer n turns back, 1 for the last; "" when there
	// is none.
	Answer func(n int) string
	// Export writes the session to a file, "" for one it names, and returns
	// what to tell the person.
	Export func(ctx context.Context, name string) (told string, err error)
	// Init writes an AGENTS.md for the project, and returns what to tell.
	Init func(ctx context.Context) (told string, err error)
	// Files completes the @paths of a text.
	Files completer
	// Config lists the settings in the order of the help.
	Config func() []ConfigRow
	// Tools lists the tools the model is offered.
	Tools func() []tool.Tool
	// Rules are the rules in force, in the order in which they count.
	Rules func() []permission.RuleInForce
	// Compact makes the history small and says what went, "" when nothing could.
	Compact func() (string, error)
	// Context tells how full the context is.
	Context func() agent.ContextUse
	// Cost tells what this session has used so far.
	Cost func() conversation.Totals
	// Doctor looks at what artoo needs and tells what it finds; tell's error, or
	// ctx's, ends it.
	Doctor func(ctx context.Context, tell func(doctor.Finding) error) error
	// Debug turns wire debugging on or off, and says whether it is on; with nil
	// it only says.
	Debug func(on *bool) bool
	// Expand reads what the @paths of a typed message name, but for those in the
	// parts of it that were pasted.
	Expand func(ctx context.Context, text string, pasted []Span) Expansion
}

// ConfigRow is one setting.
type ConfigRow struct {
	Name   string
	Value  string // never a key
	Origin string // where it comes from: default, a file, a variable, a flag
}

// Choice is one of several things, with a few words about it.
type Choice struct {
	Name  string
	About string // may be ""
}
