package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/names"
	repository "artoo/tool/project"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
)

// Workspace is the project an agent works in, and what it may reach besides.
type Workspace struct {
	Project   repository.Project
	ConfigDir string    // the user's own AGENTS.md is here; may be ""
	NoProject bool      // read no instructions of the project
	Replace   string    // the user's own system prompt; "" for artoo's
	Append    string    // added to the system prompt
	Shell     string    // see shell.Find
	Headless  bool      // No one can be asked.
	Began     time.Time // the model is told the day

	AddDirs   []string // DIR or DIR:rw; ~ is the home directory
	DenyFiles []string // artoo's own secrets
	// Asked says which denied files the user's own rules reopen to a question; nil reopens none.
	Asked func(abs string) bool

	mask func(text string) string // Secrets.Mask
}

// OpenFiles opens the granted directories, and those of read.
func (w *Workspace) OpenFiles(read []string) (*files.Files, error) {
	cfg := files.Config{Root: w.Project.Root, Dir: w.Project.Dir, ReadDirs: read, DenyFiles: w.DenyFiles,
		Asked: w.Asked}
	if w.Project.Common != "" {
		cfg.ReadDirs = append(cfg.ReadDirs, w.Project.Common)
	}
	readable, writable, err := w.AddedDirs()
	if err != nil {
		return nil, err
	}
	cfg.ReadDirs, cfg.WriteDirs = append(cfg.ReadDirs, readable...), writable
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

// AddedDirs are the directories the user opened besides the project, absolute.
func (w *Workspace) AddedDirs() (readable, writable []string, err error) {
	for _, dir := range w.AddDirs {
		dir, write := strings.CutSuffix(dir, ":rw")
		dir, err := filepath.Abs(inHome(dir, os.Getenv("HOME")))
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

func inHome(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		return home + rest
	}
	return path
}

// executable reports whether a path is a program, to be run by someone.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Confinement is what can hold the project's commands.
func (w *Workspace) Confinement(f sandbox.Facts, required bool) permission.Confinement {
	if f.Mechanism == sandbox.None {
		return permission.Confinement{}
	}
	return permission.Confinement{Sandbox: true, Layer: f.Layer, First: f.Still, Shows: !f.HidesFiles, Network: !f.Network,
		Auto:     f.Mechanism == sandbox.Namespaces || f.Mechanism == sandbox.Landlock && !w.Project.Git,
		Required: required}
}

// JournalConfig is that of a journal in dir. state is artoo's own directory, "" for none. env may get its files later.
func (w *Workspace) JournalConfig(dir, state string, env *tool.Env) journal.Config {
	root := w.Project.Root
	config := journal.Config{Dir: dir, Root: root, Merges: repo.IsIndex,
		Denied: func(path string) bool {
			place, err := env.Files.Resolve(journal.Abs(root, path), false)
			return err != nil || place.Denied
		},
		Merge: func(ctx context.Context, path string, from, to, now []byte) ([]byte, []string, error) {
			return repo.MergeIndex(ctx, filepath.Dir(path), env.Environ, from, to, now)
		}}
	if state != "" {
		config.Locks = filepath.Join(state, "landing")
	}
	_, config.Added, _ = w.AddedDirs() // opening the files fails for one that cannot be named
	if w.Project.Common != "" {
		config.Added = append(config.Added, w.Project.Common)
	}
	for i, dir := range config.Added {
		config.Added[i] = names.Real(dir)
	}
	if w.Project.Git {
		config.Ignored = func(ctx context.Context) ([]string, error) { return w.Project.Ignored(ctx, env.Environ) }
		config.Head = w.Project.Head
	}
	return config
}

func (w *Workspace) masked(text string) string {
	if w.mask == nil {
		return text
	}
	return w.mask(text)
}
