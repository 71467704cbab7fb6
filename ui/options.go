package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/ui/doctor"
	"artoo/ui/screen"
)

// Options are what a conversation is made of. Agent, Program, Screen and In have
// to be filled; the rest may stay empty.
type Options struct {
	// Agent is whose conversation this is: slash commands show and change it
	// between turns, and a session that it resumed is shown at the start.
	Agent *agent.Agent
	// Sender runs the turns; nil is the Agent.
	Sender  Sender
	Program Program
	Screen  *screen.Screen
	// Profile Plain reads plain lines and leaves the terminal's modes alone.
	Profile screen.Profile
	// Lines is --interactive: any streams, one line is one message, and a
	// question is answered by the next line that comes after it was written.
	Lines bool
	Trust *Trust // asked before the first message; nil asks nothing
	First string // the first message, "" for none
	Clock Clock
	// Notify calls the user when a question waits and when a long turn has
	// ended; nil calls nobody.
	Notify *Notifier
	// StatusLine is the command that says the status after each turn; nil for none.
	StatusLine *StatusLine
	// Offer offers to be notified, where nothing was set; nil offers nothing.
	Offer *NotifyOffer
	Device
	Editing
	Children
	Ending
}

// Device is the terminal, or what stands in its place.
type Device struct {
	// In is where lines are read; an *os.File where it is a terminal. Nothing
	// else may read it while Run runs.
	In io.Reader
	// Tty is the terminal's output for children (editor, pager); nil where
	// there is none. The conversation itself writes through Screen only.
	Tty *os.File
	// Size is the terminal's columns and rows, asked before each drawing; nil
	// means 80 and 24. Absurd sizes do no harm.
	Size func() (cols, rows int)
	// Piped says that answers go somewhere else than to the terminal: then
	// nothing is paged.
	Piped bool
	// Discard throws away what a slow terminal has not shown yet, and says whether
	// it is one; called by an interrupt, on any goroutine. nil throws nothing away.
	Discard func() (slow bool, err error)
}

// Editing is how lines are edited.
type Editing struct {
	History string // the path of the history file; "" keeps none
	ViKeys  bool   // vi's keys instead of emacs'
}

// Children are the programs that run for the user: commands, editor, pager.
type Children struct {
	// Environ is the user's environment, as os.Environ gives it, which also says
	// what the terminal is. The user's own commands get all of it; the editor, the
	// pager and what fills the clipboard get it without the providers' keys.
	Environ []string
	// Path is the PATH of the user's own commands and of the editor, which may lead into
	// the project; "" is that of Environ.
	Path string
	// KeyVariables are the variables that hold a provider's key.
	KeyVariables []string
	// Pager is the user's pager command line; "" means PAGER, then less, and cat
	// none.
	Pager string
}

// Ending is how the process ends where the conversation cannot.
type Ending struct {
	// Crash is told of a panic after the terminal was given back, with what was
	// thrown and the trace of its goroutine, on any goroutine. It has to end the
	// program. nil lets the panic end it.
	Crash func(value any, stack []byte)
	// Quit ends the program after a SIGQUIT (Ctrl-\ in a turn), when the terminal was
	// given back. It is called by the console's goroutine and does not return; nil dies
	// of the signal.
	Quit func()
	// Exit ends the process with a code when a signal is to end it and the
	// terminal holds everything up; nil leaves it to hang.
	Exit func(code int)
}

// Sender runs turns; *agent.Agent is one.
type Sender interface {
	Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error)
	// Kill kills what an interrupted turn left running. It is called from any
	// goroutine.
	Kill()
}

// Program is what slash commands need that no agent knows: which models there
// are, the settings, and artoo's own state. It is called between turns by the
// goroutine that runs Terminal.Run; Models and Providers also to complete a line,
// while its prompt stands. Texts it returns may come from outside: they are
// sanitised before they are shown.
type Program interface {
	// Models lists the models known of the present provider, without asking it.
	Models() []provider.ModelInfo
	// AskModels asks the provider first. The error says why it could not be
	// asked; the list then is that of Models.
	AskModels(ctx context.Context) ([]provider.ModelInfo, error)
	// FindModel says which model a name means, before SwitchModel: one of the present
	// provider, PROVIDER/NAME, or the name of a provider for its usual model. The
	// provider is asked where it is not known otherwise that it has it. The error says
	// why nothing can be meant.
	FindModel(ctx context.Context, name string) (FoundModel, error)
	// Providers lists the providers that could answer, each with the model that a
	// switch to it means.
	Providers() ([]config.Choice, error)
	// SwitchModel makes the agent's model another one, of another provider if the
	// name has one before a slash. The reasoning effort stays as it is.
	SwitchModel(ctx context.Context, name string) error
	// SwitchProvider changes to the model that a provider means.
	SwitchProvider(ctx context.Context, name string) error
	// Settings are the settings in the order of the help, as they are now.
	Settings() []config.Value
	// Doctor looks at what artoo needs and tells what it finds; tell's error, or
	// ctx's, ends it.
	Doctor(ctx context.Context, tell func(doctor.Finding) error) error
	// Debug turns wire debugging on or off, and says whether it is on; with nil
	// it only says.
	Debug(on *bool) bool
	// Confined says what confines commands, what of it is missing and what commands
	// reach, one a row.
	Confined() []string
}

// FoundModel is what a name that was typed for a model means.
type FoundModel struct {
	Provider, Model string
	Known           bool   // the provider has it
	Listed          bool   // it is known which models the provider has
	Nearest         string // of these the one with the most similar name; "" for none
}

// New checks the options. Nothing is read or changed before Run.
func New(opt Options) (*Terminal, error) {
	if opt.Agent == nil || opt.Program == nil || opt.Screen == nil || opt.In == nil {
		return nil, errors.New("terminal: Agent, Program, Screen and In are needed")
	}
	if opt.Sender == nil {
		opt.Sender = opt.Agent
	}
	if opt.Quit == nil {
		opt.Quit = func() { opt.Screen.Note("error: " + DieOfQuit().Error()) }
	}
	opt.Clock = opt.Clock.orReal()
	opt.Size = saneSize(opt.Size)
	t := &Terminal{Screen: opt.Screen, opt: opt}
	t.complete = t.completions
	return t, nil
}

// saneSize bounds what a terminal says of its size: serial lines and expect
// scripts have terminals without one.
func saneSize(size func() (cols, rows int)) func() (int, int) {
	return func() (cols, rows int) {
		if size != nil {
			cols, rows = size()
		}
		if cols <= 0 {
			cols = 80
		}
		if rows <= 0 {
			rows = 24
		}
		return max(cols, 10), max(rows, 2)
	}
}

// Clock is where the terminal's timing rules take the time from. Main leaves
// both nil for the real one.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}
