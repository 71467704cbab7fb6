package ui

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/environ"
	"artoo/ui/doctor"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// Terminal is a conversation in a terminal. Make one with New, call Run once.
type Terminal struct {
	screen   *screen.Screen
	opt      Options
	prompt   *prompt.Prompt
	children children
	listed   []conversation.Info   // /sessions numbered them
	initial  prompt.Draft          // for the next prompt
	returned []prompt.Draft        // for the prompts after it: queued lines that were not sent
	lastInt  time.Time             // when Ctrl-C said how to leave
	spent    float64               // US dollars, as far as they are known
	began    atomic.Bool           // there is a prompt
	lost     atomic.Pointer[error] // why the output that is lost ends the conversation
	shared   []provider.Part       // commands the user ran, for the next message
	outputs  outputs               // /out pages them
	program  *program              // whose command is carried out; nil in a conversation, which has a prompt
}

// callbacks report a turn to the user: the screen tells, the terminal asks. It implements agent.Callbacks.
type callbacks struct {
	*screen.Screen
	t *Terminal
}

type output struct {
	verb, object string
	summary      string
	text         string // the model got this; file holds the whole, if it is set
	file         string
}

// outputs are the last calls, the oldest first. Safe for concurrent use.
type outputs struct {
	mu   sync.Mutex
	list []output
	size int // bytes of text
}

// program is the sender of a command that is carried out without a terminal.
type program struct {
	agent.Callbacks // of its turns
	steering        func() []agent.Message
	response        *agent.Response // the response of its turn; nil for none
	err             error
}

func (p *program) ended(r *agent.Response, err error) {
	if r != nil {
		p.response = r
	}
	p.err = errors.Join(p.err, err)
}

// Options configure a conversation. Agent, Program, Models, Screen and In have to be set;
// the rest may stay empty.
type Options struct {
	// The terminal. New sets its Screen, Plain, Spoken, Env, Complete, Queued, Output, Skip and Kill.
	prompt.Options
	// Agent holds the conversation: slash commands show and change it
	// between turns, and a session that it resumed is shown at the start.
	Agent *agent.Agent
	// Sender runs the turns; nil is the Agent.
	Sender  Sender
	Program Program
	Models  Models
	Screen  *screen.Screen
	// Profile Plain reads plain lines and leaves the terminal's modes alone.
	Profile screen.Profile
	Trust   *Trust // asked before the first message; nil asks nothing
	First   string // the first message, "" for none
	// Notify notifies the user when a question waits and when a long turn has
	// ended; nil never does.
	Notify *Notifier
	// StatusLine is the command that says the status after each turn; nil for none.
	StatusLine *StatusLine
	// Offer offers to be notified, where nothing was set; nil offers nothing.
	Offer *NotifyOffer
	// Piped says that answers go somewhere else than to the terminal: then
	// nothing is paged.
	Piped bool
	// Discard drops output that a slow terminal has not shown yet, and reports whether the
	// terminal is slow. Any goroutine calls it; nil drops nothing.
	Discard func() (slow bool, err error)
	Children
}

// Children are the programs that run for the user: commands, editor, pager.
type Children struct {
	// Environ is the user's environment, as os.Environ gives it. Editor, pager and clipboard
	// get it without the providers' keys. PATH is artoo's own, for programs that it starts by itself.
	Environ environ.Vars
	// Path is the PATH of the user's own commands and of the editor, which may lead into
	// the project; "" is that of Environ.
	Path string
	// KeyVariables are the variables that hold a provider's key.
	KeyVariables []string
	// Pager is the user's pager command line; "" means PAGER, then less, and cat
	// none.
	Pager string
}

// children are the programs that have the user's terminal to themselves, for a while.
type children struct {
	opt    *Options
	prompt *prompt.Prompt // nil before Terminal.Run
}

// Sender runs turns; *agent.Agent is one.
type Sender interface {
	Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error)
	// Kill kills the processes of an interrupted turn. It is called from any
	// goroutine.
	Kill()
}

// Program gives slash commands the facts that no agent knows: the settings, and
// artoo's own state. It is called between turns by the goroutine that runs
// Terminal.Run. Texts it returns may come from outside: they are sanitised before
// they are shown.
type Program interface {
	// Settings are the settings in the order of the help, as they are now.
	Settings() []config.Value
	// Doctor checks everything that artoo needs and passes each finding to tell;
	// tell's error, or ctx's, ends it.
	Doctor(ctx context.Context, tell func(doctor.Finding) error) error
	// Debug turns wire debugging on or off, and says whether it is on; with nil
	// it only says.
	Debug(on *bool) bool
	// Hooks are the hooks that are set up, one a row, also those that do not run, and why.
	Hooks() []string
	// Confined describes the sandbox, its missing parts and the reach of commands, one
	// a row.
	Confined() []string
	// Policy is the system's policy in a line, "" where there is none.
	Policy() string
}

// Models are the models that can answer. They are called as Program is; Models and
// Providers also to complete a line, while its prompt stands.
type Models interface {
	// Models lists the models known of the present provider, without asking it.
	Models() []provider.ModelInfo
	// AskModels asks the provider first. The error says why it could not be
	// asked; the list then is that of Models.
	AskModels(ctx context.Context) ([]provider.ModelInfo, error)
	// FindModel says which model a name means: one of the present provider, PROVIDER/NAME, or for PROVIDER
	// and PROVIDER/ its usual one. It asks the provider if nothing else knows the model. The error says why
	// the name means none.
	FindModel(ctx context.Context, name string) (FoundModel, error)
	// Providers lists the providers that could answer, each with the model that a
	// switch to it means.
	Providers() ([]config.Choice, error)
	// SwitchModel makes the agent's model another one, of another provider if the
	// name has one before a slash. The reasoning effort stays as it is.
	SwitchModel(name string) error
}

// FoundModel is the model that a typed name means.
type FoundModel struct {
	Provider, Model string
	Known           bool   // the provider has it
	Listed          bool   // it is known which models the provider has
	Nearest         string // the listed model with the most similar name, or ""
}

// Trust is a question whether to trust the repository's settings; a conversation
// begins with it.
type Trust struct {
	Question screen.YesNo
	// Answered is called after a yes or a no, and gives the question after it, nil for none. Its
	// error ends the conversation.
	Answered func(yes bool) (*Trust, error)
}

func (t *Terminal) takeShared() []provider.Part {
	parts := t.shared
	t.shared = nil
	return parts
}
