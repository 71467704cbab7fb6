package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"artoo/conversation"
	"artoo/tool"
)

// Workspace is the place an agent works in: the project, what it may reach, and
// where sessions are kept. Main fills it once; Begin may be called again for
// each session.
type Workspace struct {
	Project   tool.Project
	ConfigDir string // the user's own AGENTS.md is here; may be ""
	NoProject bool   // read no instructions of the project
	Replace   string // the user's own system prompt; "" for artoo's
	Append    string // added to the system prompt
	Shell     string // see tool.FindShell
	Headless  bool   // nobody can be asked
	Began     time.Time
	Version   string // of the program

	AddDirs   []string // DIR or DIR:rw; ~ is the home directory
	DenyFiles []string // artoo's own secrets
	// Asked says which denied files the user's own rules reopen to a question;
	// nil reopens none.
	Asked func(abs string) bool

	Store     conversation.Store
	Ephemeral bool // keep no session file
	// Budget is the context budget in tokens, ToolResultMaxChars the limit of a
	// tool's result.
	Budget             func() int
	ToolResultMaxChars int

	// Mask masks the instruction files and what a resumed session holds, as
	// Agent.Mask does all else; may be nil.
	Mask func(text string) string
	// Begun is told of each session, before anything of it is masked but the
	// instruction files; may be nil.
	Begun func(s *conversation.Session)

	scratch string // of an ephemeral session
	output  string // of the present session
}

// Begin puts a session into the agent: conversation, system prompt, files. A
// nil session begins a new one. notices are for the user.
func (w *Workspace) Begin(a *Agent, s *conversation.Session) (notices []string, err error) {
	instructions, cut, err := w.instructions()
	if err != nil {
		return nil, err
	}
	if cut {
		notices = append(notices, "the instruction files are longer than 32 KB together; the rest was left out")
	}
	settings := w.settings(a)
	system := SystemPrompt(PromptInfo{
		Dir: w.Project.Dir, Root: w.Project.Root, Git: w.Project.Git, Branch: w.Project.Branch(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Date: w.Began, Shell: w.Shell, Replace: w.Replace, Append: w.Append, Settings: settings, Instructions: instructions,
	})
	if s == nil && !w.Ephemeral {
		s = w.Store.Create(conversation.Header{CWD: w.Project.Dir, Version: w.Version, Provider: a.ProviderName, Model: a.Defaults.Model, System: system})
	}
	if s != nil {
		if w.Begun != nil {
			w.Begun(s)
		}
		notices = append(notices, s.Notices()...)
		a.SessionID = s.ID()
		if s.Header().System != "" {
			// The session began with this prompt, and the provider's cache with it.
			system = s.Header().System
		}
	}
	output, read, err := w.outputs(s)
	if err != nil {
		return nil, err
	}
	if err := w.openFiles(a, read); err != nil {
		return nil, err
	}
	a.Env.PageMax = w.pageMax
	a.Conversation = conversation.New(conversation.Config{MaxContextTokens: w.Budget(), ToolResultMaxChars: w.ToolResultMaxChars, OutputDir: output, Mask: w.Mask}, s)
	a.System = system
	a.Conversation.SetOverhead(overhead(a))
	a.Note = joinNotes(w.settingsNote(system, a.Conversation.Messages(), settings), w.gitNote(a.Env.Environ), w.note(system, instructions))
	a.Guide = w.guide(instructions)
	return notices, nil
}

// Bounds of a page of read or grep, in bytes.
const (
	pageTimes = 5        // the limit of other results
	mostPage  = 50 << 10 // what the field's other agents show of a file at once
	leastPage = 1000
)

// pageMax is how many bytes a page of read or grep may have. A token is a byte
// at worst, so one page never takes more than half of the budget.
func (w *Workspace) pageMax() int {
	most := max(w.ToolResultMaxChars, min(pageTimes*w.ToolResultMaxChars, mostPage))
	return max(leastPage, min(most, w.Budget()/2))
}

// Close removes what an ephemeral session left.
func (w *Workspace) Close() error {
	w.empty()
	if w.scratch == "" {
		return nil
	}
	return os.RemoveAll(w.scratch)
}

func overhead(a *Agent) int {
	n := len(a.System)
	for _, t := range a.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}

// outputs are the directory for a session's long outputs, and all that hold
// outputs it may speak of. The first is made at once: the files are opened
// before there is an output, and a state directory that cannot be written is
// better known before the first message. Close takes it away if it stayed empty.
func (w *Workspace) outputs(s *conversation.Session) (output string, read []string, err error) {
	if s == nil {
		if w.scratch == "" {
			if w.scratch, err = os.MkdirTemp("", "artoo-"); err != nil {
				return "", nil, err
			}
		}
		return w.scratch, []string{w.scratch}, nil
	}
	w.empty()
	w.output = s.OutputDir()
	if err := os.MkdirAll(w.output, 0o700); err != nil {
		return "", nil, &Failure{Kind: KindInternal, What: "session", Err: err, Hint: "set XDG_STATE_HOME to a directory that can be written, or --ephemeral"}
	}
	for _, dir := range s.OutputDirs() {
		if _, err := os.Stat(dir); err == nil {
			read = append(read, dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return w.output, read, nil
}

// empty removes the last session's output directory if nothing is in it; one
// that holds something stays, which is the error ignored here.
func (w *Workspace) empty() {
	if w.output != "" {
		_ = os.Remove(w.output)
	}
}

// openFiles opens the granted directories anew.
func (w *Workspace) openFiles(a *Agent, read []string) error {
	cfg := tool.FilesConfig{Root: w.Project.Root, Dir: w.Project.Dir, ReadDirs: read, DenyFiles: w.DenyFiles, Asked: w.Asked}
	if w.Project.Common != "" {
		cfg.ReadDirs = append(cfg.ReadDirs, w.Project.Common)
	}
	readable, writable, err := w.addedDirs()
	if err != nil {
		return err
	}
	cfg.ReadDirs, cfg.WriteDirs = append(cfg.ReadDirs, readable...), writable
	files, err := tool.OpenFiles(cfg)
	if err != nil {
		return err
	}
	if a.Env.Files != nil {
		if err := a.Env.Files.Close(); err != nil {
			return err
		}
	}
	a.Env.Files = files
	return nil
}

// addedDirs are the directories the user opened besides the project, absolute.
func (w *Workspace) addedDirs() (readable, writable []string, err error) {
	for _, dir := range w.AddDirs {
		dir, write := strings.CutSuffix(dir, ":rw")
		if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
			dir = os.Getenv("HOME") + rest
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			return nil, nil, err
		}
		if write {
			writable = append(writable, dir)
		} else {
			readable = append(readable, dir)
		}
	}
	return readable, writable, nil
}

// Output is the directory for long outputs of the present session.
func (w *Workspace) Output() string {
	if w.output != "" {
		return w.output
	}
	return w.scratch
}
