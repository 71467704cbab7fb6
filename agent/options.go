package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/agent/confine"
	"artoo/agent/instructions"
	"artoo/agent/ledger"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/telemetry"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/journal"
	repository "artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/skill"
)

// Options are the parts of an agent. Only Model and Sessions have to be filled.
type Options struct {
	Model Model
	// Fallbacks answer for the rest of a turn, in this order, in place of a model that fails for now.
	Fallbacks []Fallback
	// Small answers for summaries, searches of sub-agents and the first pass of a review, as far as it can; its zero
	// value is none.
	Small  Fallback
	Tools  []tool.Tool        // The model may call these, see OwnTools.
	Env    *tool.Env          // The tools work with it, and the Workspace's files are opened in it. nil is a new one.
	Policy *permission.Policy // decides over calls; nil asks about all that changes something
	Limits Limits
	// Ledger counts the spending of all runs of the user; nil counts this run only, without Limits.DailyCost.
	Ledger *ledger.Ledger
	// Sandbox confines commands, as far as Policy.Confinement allows it. nil confines none.
	Sandbox Sandbox
	// Guard finds the files that programs run or obey automatically; nil finds none.
	Guard *permission.Guard
	// Hooks run at events of a session.
	Hooks Hooks
	// Checks look at files after a tool changed them; they need Sandbox and a layer.
	Checks []Check
	// Until decides whether the model is done; nil takes its word. It needs Sandbox and a layer. SetUntil changes it.
	Until *Until
	// Schema is that of each turn's answer; nil takes any text. An answer that does not fit is requested once more.
	// Tools may be called before it, and sub-agents answer in words.
	Schema *Schema
	// Journal opens the journal of a session; from is the one it is a copy of, "" for none. nil
	// keeps nothing.
	Journal func(session, from string) (*journal.Journal, error)
	// PlanTools are offered besides Tools once plan mode is on.
	PlanTools []tool.Tool
	// Skills are the user's skills, commands and agents; nil for none. The tool skill loads skills.
	Skills *skill.Library
	// SubAgents are those that task offers by name, as OwnTools was given them.
	SubAgents []SubAgent
	// Workspace is the project that the agent works in, with its system prompt, instructions and
	// files. With nil the system prompt is System.
	Workspace *Workspace
	System    string
	Sessions  Sessions
	Secrets   Secrets
	// MaxContextTokens bounds a request, besides the model's window, ToolResultMaxChars a
	// tool's result; 0 is no bound.
	MaxContextTokens, ToolResultMaxChars int
	// Compact is the action at a full budget; "" is CompactTrim.
	Compact Compaction
	// Concurrency is how many read-only calls run side by side; 0 means 4.
	Concurrency int
	// SaveRule adds an allow rule to the user's file. With nil such an answer holds for the
	// session, with a notice.
	SaveRule func(rule string) error
	// TrustPrograms records that the project's own programs may run in the sandbox from now on.
	// With nil such an answer holds for the session, with a notice.
	TrustPrograms func() error
	// Telemetry makes a span of each turn, request and call, of sub-agents too; nil makes none.
	Telemetry *telemetry.Recorder
	// Notice gets messages for the user about a session that begins; nil drops them.
	Notice func(text string)
	Waits  Waits
}

// Waits are limits of what goes on beside a command; 0 of each is its usual one.
type Waits struct {
	// Warning is how long a command runs on a layer before the user is warned that a question may follow: 30 s.
	Warning time.Duration
	// Judging is how long the effects of a command may take to be read and judged: 10 s.
	Judging time.Duration
	// Look is the time between two looks for files that a command makes, which both find before one moves: 800 ms.
	Look time.Duration
	// Clock is that of waits for rate limits: the machine's.
	Clock Clock
}

// Clock gives the time and waits. The error of a wait is ctx's, where that ends first.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// machineClock is the machine's.
type machineClock struct{}

func (machineClock) Now() time.Time { return time.Now() }

func (machineClock) Sleep(ctx context.Context, d time.Duration) error { return provider.Sleep(ctx, d) }

func (w Waits) orUsual() Waits {
	return Waits{cmp.Or(w.Warning, 30*time.Second), cmp.Or(w.Judging, 10*time.Second),
		cmp.Or(w.Look, 800*time.Millisecond), cmp.Or[Clock](w.Clock, machineClock{})}
}

// Model is the one that answers: a provider, and the options of requests.
type Model struct {
	Provider provider.Provider
	Name     string // the provider's name, as sessions keep it
	// Defaults are the options of a request that sets no others. A reply never gets more than the model can write.
	Defaults provider.Options
	Info     provider.ModelInfo // facts about Defaults.Model
	// Describe asks the model's server for these facts, before each turn until they are no guess.
	// May be nil.
	Describe func(ctx context.Context) (provider.ModelInfo, error)
	// Other gives the facts of another model of the same provider; nil takes those of the
	// built-in catalogue.
	Other func(model string) provider.ModelInfo
	// Rules describes in a sentence the approval mode with a provider that has its own
	// rules; "" where the agent's hold. May be nil.
	Rules func(mode string) string
	// Wait waits until no run of a provider with tools of its own works in the project any
	// more, on any goroutine. Where it is set the journal spans each request; nil is all others.
	Wait func()

	// small says that it is Options.Small.
	small bool
}

// Sessions sets where sessions are kept.
type Sessions struct {
	Store     conversation.Store
	Ephemeral bool   // keep no file of new sessions; Store may be empty
	Headless  bool   // new ones are listed only on request, as those of a Workspace without a user
	Version   string // The file names the version of the program.
	// First is the session to go on with; nil begins a new one. Where New fails the caller has to
	// close it.
	First *conversation.Session
}

// Secrets keep keys out of files, requests and the terminal. All may be nil.
type Secrets struct {
	// Mask replaces keys with ‹secret:1a2b3c4d5e6f›, in text to keep, send or show. Any
	// goroutine calls it.
	Mask func(text string) string
	// Settings masks errors and notices, in which addresses and command lines of settings stand; nil is Mask.
	Settings func(text string) string
	// Learn gets the texts of files with keys that commands may see: any part of these keys is masked from then on.
	Learn func(text string)
	// Begin gets a session before anything of it is masked, nil for a new one. Begun gets each
	// session that is saved, once only the instruction files have been masked.
	Begin func(s *conversation.Session) error
	Begun func(s *conversation.Session)
}

// check reports missing options.
func (o Options) check() error {
	var missing []string
	need := func(there bool, what string) {
		if !there {
			missing = append(missing, what)
		}
	}
	need(o.Model.Provider != nil, "Model.Provider")
	need(o.Model.Name != "", "Model.Name")
	need(o.Model.Defaults.Model != "", "Model.Defaults.Model")
	need(o.Sessions.Ephemeral || o.Sessions.Store.Dir != "", "Sessions.Store, or Sessions.Ephemeral")
	if w := o.Workspace; w != nil {
		need(filepath.IsAbs(w.Project.Root), "an absolute Workspace.Project.Root")
		need(filepath.IsAbs(w.Project.Dir), "an absolute Workspace.Project.Dir")
	}
	if missing != nil {
		return errors.New("agent: missing in the options: " + strings.Join(missing, "; "))
	}
	names := map[string]bool{}
	for i, t := range o.Tools {
		switch {
		case t.Name == "" || !t.Valid():
			return fmt.Errorf("agent: tool %d (%q) was not made by tool.New", i+1, t.Name)
		case names[t.Name]:
			return fmt.Errorf("agent: two tools are called %q", t.Name)
		}
		names[t.Name] = true
	}
	if o.Policy != nil {
		return o.Policy.CheckMode()
	}
	return nil
}

// String is the provider and the model.
func (m Model) String() string { return m.Name + "/" + m.Defaults.Model }

// Message is the user's, with the options of its turn.
type Message struct {
	Text        string
	Attachments []provider.Part
	// Options override Model.Defaults in this turn; unset ones stay. Another model is one of
	// the same provider.
	Options provider.Options
	// Timeout bounds each request of the turn, its tries included; 0 leaves it to the provider.
	Timeout time.Duration
	// Steering gives the messages that the user sent while the turn runs, of which Text and
	// Attachments count, appended after the results of calls. The goroutine of Send calls it
	// between steps, not when a reply without calls ends the turn. May be nil.
	Steering func() []Message
}

func (m Model) rules(mode permission.Mode) string {
	if m.Rules == nil {
		return ""
	}
	return m.Rules(string(mode))
}

// SubAgent is a sub-agent that the user has described, which task offers by its name.
type SubAgent struct {
	Name        string
	Description string   // its purpose, for the calling model; may be ""
	Prompt      string   // added to its system prompt; may be ""
	Tools       []string // the names of those it may have; nil for all that a sub-agent may have
	// Model makes the model that answers; nil for that of the agent that calls.
	Model func() (Model, error)
	// ReadOnly has it in plan mode, whatever the mode of the agent that calls.
	ReadOnly bool

	own   []tool.Tool // It has these tools besides.
	plain bool        // It is given no instructions of the project.
}

// Fallback is a model that answers in place of one that fails for now.
type Fallback struct {
	Name string // Notices show it as the user wrote it.
	// Model makes it. The error says why it cannot be asked: the next one is then tried. One agent at a time calls
	// it, on the goroutine of its turn.
	Model func(ctx context.Context) (Model, error)
}

// Hooks are the commands that run at events of a session.
type Hooks struct {
	List []extension.Hook // They run in this order.
	// Environ is artoo's own environment, of which hooks get the variables that environ.OfExtension keeps.
	Environ []string
	// Approved explains, before each run, why the hook of a repository must not run any more; nil
	// lets all run. Any goroutine calls it.
	Approved func(extension.Extension) error
}

// Schema is a JSON Schema that answers have to fit. NewSchema makes one. Several goroutines may use it.
type Schema struct {
	text     json.RawMessage
	resolved *jsonschema.Resolved
}

// Until is a command of the user's that decides whether an agent is done. It runs whenever the model finishes, confined,
// on a layer that is thrown away; its output when it fails is the model's next message.
type Until struct {
	// Option set the command, for messages: "--until", "/until". Command is a shell line.
	Option, Command string
	// State identifies the changes so far by any text: an equal one means that nothing changed. Where it is nil, Rounds
	// is how often in a turn the model goes on at most.
	State  func(ctx context.Context) (string, error)
	Rounds int
}

// EffectCaps bound the changes of a run, from its start on. The zero value bounds nothing.
type EffectCaps struct {
	MaxFiles int // paths that differ from their state at the start: a renamed file is two; 0 is no cap
	MaxLines int // lines added and removed; a binary file counts one per 80 bytes; 0 is no cap
	// Only are lists of patterns, as rules for files have them. A path has to match one of each list.
	Only     [][]string
	NoDelete bool // Nothing that was there at the start is removed, renamed or emptied.
}

// Any reports whether there is a cap.
func (e EffectCaps) Any() bool {
	return e.MaxFiles > 0 || e.MaxLines > 0 || len(e.Only) > 0 || e.NoDelete
}

// String is the caps as the user would write them.
func (e EffectCaps) String() string {
	var words []string
	if e.MaxFiles > 0 {
		words = append(words, fmt.Sprintf("--max-files %d", e.MaxFiles))
	}
	if e.MaxLines > 0 {
		words = append(words, fmt.Sprintf("--max-lines %d", e.MaxLines))
	}
	for _, list := range e.Only {
		words = append(words, "--only "+strings.Join(list, " --only "))
	}
	if e.NoDelete {
		words = append(words, "--no-delete")
	}
	return strings.Join(words, " ")
}

// Sandbox starts commands so that the kernel holds them. Any goroutine calls it.
type Sandbox interface {
	// Start starts a command in a place other than the host. The error explains why this place is not
	// to be had.
	Start(cmd *exec.Cmd, line confine.Line) (confine.Confined, error)
}

// Check is a command of the user's that looks at files after a tool changed them.
type Check struct {
	// Glob is of paths below the project's root, with slashes; one without a slash is of names in
	// any directory.
	Glob string
	// Command is a shell line. The files' paths replace {} in it, or follow it.
	Command string
}

// Compaction is the action when a history passes its budget.
type Compaction string

// These are the compactions. CompactAsk is CompactTrim where no one can answer.
const (
	CompactTrim Compaction = "trim" // the oldest is shortened and left out
	CompactAuto Compaction = "auto" // the model sums it up
	CompactAsk  Compaction = "ask"  // the user decides each time
)

// Limits are hard caps. A zero field means no cap.
type Limits struct {
	MaxTurns int // model requests per turn
	// HighestTurns bounds the steps that the user may grant a turn besides MaxTurns; 0 is no bound.
	HighestTurns   int
	MaxCost        float64       // US dollars per run, retries included
	MaxTotalTokens int           // tokens per run, retries included
	MaxTime        time.Duration // per run, without waiting for the user
	// WaitLimit is how long one reply waits unasked for rate limits that say when they reset.
	WaitLimit time.Duration
	// DailyCost is US dollars per local day, over all runs that share Options.Ledger.
	DailyCost float64
	// Effects bound the changes of the run, which are then made by file tools and on layers alone.
	Effects EffectCaps
}

// Workspace is the project an agent works in, and the other places it may reach.
type Workspace struct {
	Project   repository.Project
	ConfigDir string // the user's own AGENTS.md is here; may be ""
	Home      string // where ~ leads in an import of an instruction file; may be ""
	// Rules are the project's; nil for none.
	Rules     *instructions.Rules
	Memory    string    // the user's file of lines about the project, absolute; "" keeps none
	NoProject bool      // read no instructions of the project
	Replace   string    // the user's own system prompt; "" for artoo's
	Append    string    // added to the system prompt
	Shell     string    // see shell.Find
	Headless  bool      // No one can be asked.
	Once      bool      // One message is sent, and the agent ends with its answer.
	Began     time.Time // the system prompt names the day

	Added     Dirs     // opened by the user besides the project
	ReadDirs  []string // absolute; those of bundles, which may be read
	DenyFiles []string // artoo's own secrets
	// Hide adds to the hidden files, Show takes from them; Guarded reports which files a repository must not hide.
	Hide, Show []files.Pattern
	Guarded    func(abs string) bool
	// External means that the user says that this machine is the sandbox; see permission.Confinement.
	External bool
	// Buffers has texts of files that an editor has not saved yet; nil for none.
	Buffers files.Buffers

	mask   func(text string) string // Secrets.Mask
	unseen *unseen                  // nil without commands
}

// Dirs are directories that may be read, and others that may also be written; all absolute.
type Dirs struct{ Read, Write []string }

// unseen are the files of a project that commands cannot see, and that git tracks.
type unseen struct {
	git.Unseen
	brought sync.Map // Git has brought other versions of those at these paths.
}

// OpenFiles opens the granted directories, and those of read.
func (w *Workspace) OpenFiles(read []string) (*files.Files, error) {
	cfg := files.Config{Root: w.Project.Root, Dir: w.Project.Dir, ReadDirs: read, DenyFiles: w.DenyFiles,
		Hide: w.Hide, Show: w.Show, Guarded: w.Guarded, Buffers: w.Buffers, GitDirs: w.Project.GitDirs, Environ: w.Project.Environ}
	if w.Project.Common != "" {
		cfg.ReadDirs = append(cfg.ReadDirs, w.Project.Common)
	}
	cfg.ReadDirs = append(cfg.ReadDirs, w.Project.Stores...)
	cfg.ReadDirs, cfg.WriteDirs = slices.Concat(cfg.ReadDirs, w.Added.Read, w.ReadDirs), slices.Clone(w.Added.Write)
	return files.Open(cfg)
}

// openFiles opens the files of a session again, for its tools and its policy.
func (w *Workspace) openFiles(env *tool.Env, policy *permission.Policy, read []string) error {
	files, err := w.OpenFiles(read)
	if err != nil {
		return err
	}
	if env.Files != nil {
		if err := env.Files.Close(); err != nil {
			return err
		}
	}
	env.Files, policy.World.Files = files, files
	return nil
}

// Confinement is the kind that can hold the project's commands.
func (w *Workspace) Confinement(f sandbox.Facts, required bool) permission.Confinement {
	if f.Mechanism == sandbox.None {
		return permission.Confinement{External: w.External}
	}
	return permission.Confinement{Sandbox: true, Layer: f.Layer, Network: !f.Network, ByEntry: f.Mechanism == sandbox.Namespaces,
		Proxy: f.Mechanism == sandbox.Namespaces && f.Network, Required: required}
}

func (w *Workspace) masked(text string) string {
	if w.mask == nil {
		return text
	}
	return w.mask(text)
}
