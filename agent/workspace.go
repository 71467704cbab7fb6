package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/tempdir"
)

// Workspace is the project an agent works in, and what it may reach besides.
type Workspace struct {
	Project   tool.Project
	ConfigDir string    // the user's own AGENTS.md is here; may be ""
	NoProject bool      // read no instructions of the project
	Replace   string    // the user's own system prompt; "" for artoo's
	Append    string    // added to the system prompt
	Shell     string    // see shell.Find
	Headless  bool      // nobody can be asked
	Began     time.Time // the model is told the day

	AddDirs   []string // DIR or DIR:rw; ~ is the home directory
	DenyFiles []string // artoo's own secrets
	// Asked says which denied files the user's own rules reopen to a question;
	// nil reopens none.
	Asked func(abs string) bool

	mask func(text string) string // Secrets.Mask
}

// Bounds of a page of read or grep, in bytes.
const (
	pageTimes = 10        // the limit of other results
	mostPage  = 100 << 10 // 2,000 lines of code with their numbers
	leastPage = 1000
)

// pageMax is how many bytes a page of read or grep may have. A token is a byte
// at worst, so one page never takes more than half of the budget.
func (a *Agent) pageMax() int {
	most := mostPage
	if limit := a.opt.ToolResultMaxChars; limit > 0 {
		most = max(limit, min(pageTimes*limit, mostPage))
	}
	if budget := a.budget(); budget > 0 {
		most = min(most, budget/2)
	}
	return max(leastPage, most)
}

// outputs are the directory for a session's long outputs, and all that hold
// outputs it may speak of. The first is made at once: the files are opened
// before there is an output, and a state directory that cannot be written is
// better known before the first message. Close takes it away if it stayed empty.
func (a *Agent) outputs(s *conversation.Session) (output string, read []string, err error) {
	if s == nil && a.opt.Workspace == nil {
		return "", nil, nil // the model could not read them
	}
	if s == nil {
		if a.scratch == nil {
			if a.scratch, err = tempdir.Make(); err != nil {
				return "", nil, err
			}
		}
		return a.scratch.Path, []string{a.scratch.Path}, nil
	}
	a.emptyOutput()
	a.output = s.OutputDir()
	if err := os.MkdirAll(a.output, 0o700); err != nil {
		return "", nil, &Failure{Kind: KindInternal, What: "session", Err: err,
			Hint: "set XDG_STATE_HOME to a directory that can be written, or --ephemeral"}
	}
	for _, dir := range s.OutputDirs() {
		if _, err := os.Stat(dir); err == nil {
			read = append(read, dir)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", nil, err
		}
	}
	return a.output, read, nil
}

// emptyOutput removes the last session's output directory if nothing is in it; one
// that holds something stays, which is the error ignored here. A link in its place is
// the user's, who moved what it names, and stays as well.
func (a *Agent) emptyOutput() {
	if info, err := os.Lstat(a.output); err == nil && info.IsDir() {
		_ = os.Remove(a.output)
	}
}

// OpenFiles opens the granted directories, and those of read.
func (w *Workspace) OpenFiles(read []string) (*tool.Files, error) {
	cfg := tool.FilesConfig{Root: w.Project.Root, Dir: w.Project.Dir, ReadDirs: read, DenyFiles: w.DenyFiles,
		Asked: w.Asked}
	if w.Project.Common != "" {
		cfg.ReadDirs = append(cfg.ReadDirs, w.Project.Common)
	}
	readable, writable, err := w.AddedDirs()
	if err != nil {
		return nil, err
	}
	cfg.ReadDirs, cfg.WriteDirs = append(cfg.ReadDirs, readable...), writable
	return tool.OpenFiles(cfg)
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

// AddedDirs are the directories the user opened besides the project, absolute.
func (w *Workspace) AddedDirs() (readable, writable []string, err error) {
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

// OutputDir is the directory for long outputs of the present session, "" for
// none.
func (a *Agent) OutputDir() string {
	if a.output == "" && a.scratch != nil {
		return a.scratch.Path
	}
	return a.output
}

// systemPrompt is the prompt of a session that begins.
func (w *Workspace) systemPrompt(now settings, instructions []instruction, environ []string) string {
	return systemPrompt(promptInfo{
		Dir: w.Project.Dir, Root: w.Project.Root, Git: w.Project.Git, Branch: w.Project.Branch(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Programs: programs(environ),
		Date: w.Began, Shell: w.Shell, Replace: w.Replace, Append: w.Append, Settings: now, Instructions: instructions,
	})
}

// programs says which of the programs that models reach for first the PATH of environ has,
// and which not: a model that knows need not try.
func programs(environ []string) string {
	var has, lacks []string
	dirs := filepath.SplitList(tool.Variable(environ)("PATH"))
	for _, name := range []string{"python3", "node", "go", "cargo", "rg"} {
		if slices.ContainsFunc(dirs, func(dir string) bool { return executable(filepath.Join(dir, name)) }) {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		has = append(has, "no "+strings.Join(lacks, ", no "))
	}
	return strings.Join(has, ", ")
}

// executable reports whether a path is a program, to be run by someone.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
