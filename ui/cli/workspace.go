package cli

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/instructions"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/project"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// workspace is the project as calls see it: its directories, the sandbox, the layer and the undo journal.
type workspace struct {
	*session
	extensions *extensions
}

// ownPath removes directories that commands may write from the PATH by which artoo itself starts programs.
func (w *workspace) ownPath() error {
	added, home := w.addedDirs(), w.process.Environ.Home()
	for _, dir := range slices.Concat(added.Read, added.Write) {
		if project.AboveProjects(dir, home) || w.isOwn(dir) {
			return fail(agent.KindConfig, "directory "+dir, errors.New("the home directory, the directories above it and artoo's own "+
				"directories cannot be added"), "name directories below the home directory")
		}
	}
	if w.path = cmp.Or(w.path, w.env("PATH")); w.path == "" { // loaded before, PATH is shortened
		return nil
	}
	programs := []string{"git", "bash", "sh"}
	kept, left := w.project.HostPath(w.path, home, added.Write, programs)
	var dirs []string
	for _, dir := range left {
		has := slices.ContainsFunc(programs, func(name string) bool {
			_, err := exec.LookPath(filepath.Join(w.abs(dir), name))
			return err == nil
		})
		if abs := w.abs(dir); has && !slices.Contains(dirs, abs) {
			dirs = append(dirs, abs)
		}
	}
	if len(dirs) > 0 {
		w.warn("artoo does not start programs from " + strings.Join(dirs, ", ") + " itself: commands may write them")
	}
	w.process.Environ = w.process.Environ.With("PATH", kept)
	w.project.Environ, w.cfg.Environ = w.process.Environ, w.process.Environ
	return nil
}

// options are the project with its policy, and how commands and servers run there.
func (w *workspace) options(ctx context.Context) (opt agent.ProjectOptions, err error) {
	environ, withheld := w.childEnviron()
	opt.Env = &tool.Env{Dir: w.project.Dir, Environ: environ, Withheld: withheld, ResultMax: int(w.cfg.ToolResultMaxChars),
		ShellTimeout: time.Duration(w.cfg.ShellTimeout), ShellTimeoutMax: time.Duration(w.cfg.ShellTimeoutMax),
		Secrets: w.secretsIn, Web: w.web}
	if opt.Policy, err = w.extensions.policy(opt.Env); err != nil {
		return opt, err
	}
	if w.facts, err = w.findSandbox(ctx); err != nil {
		return opt, err
	}
	if opt.Loopback, err = w.loopback(); err != nil {
		return opt, err
	}
	w.openHosts(&opt)
	// Without a home there is no such directory.
	opt.State, _ = w.cfg.Paths.StateDir()
	opt.Cache, _ = w.cfg.Paths.CacheDir()
	opt.Confinement, opt.Required = &w.facts, w.cfg.Sandbox == "on"
	opt.Pass, opt.Toolchains = w.cfg.PassEnv, w.cfg.Toolchains
	opt.Workspace, opt.Skills, opt.Notice = w.forAgent(), w.extensions.skills, w.warn
	opt.Layered = w.layer.journal()
	return opt, nil
}

// nameNoGit tells the user why a .git makes no repository here.
func (w *workspace) nameNoGit() {
	why, cure := w.project.GitProblem()
	if why == "" {
		return
	}
	if cure != "" {
		why += "; try: " + cure
	}
	w.warn("no repository here: " + why)
}

// nameHidden names the files that the repository hides.
func (w *workspace) nameHidden() error {
	if !slices.ContainsFunc(w.extensions.rules.hide, func(p files.Pattern) bool { return p.Repository }) {
		return nil
	}
	seen, err := w.forAgent().OpenFiles(nil)
	if err != nil {
		return err
	}
	if hidden := seen.ByRepository(); len(hidden) > 0 {
		w.warn("this repository hides " + text.Count(len(hidden), "file") + ": " + text.UpTo(mostUnread, hidden))
	}
	return seen.Close()
}

// forAgent is the project with the directories added to it.
func (w *workspace) forAgent() *agent.Workspace {
	rules := w.extensions.rules
	made := &agent.Workspace{
		Project: w.project, NoProject: bool(w.cfg.NoProject), Shell: shell.Find(w.process.Environ),
		Replace: w.cfg.System, Append: w.cfg.AppendSystem,
		Headless: w.extensions.unanswered(), Once: w.streams.headless && !w.fromProgram(), Began: w.began, Added: w.addedDirs(), Home: w.process.Environ.Home(),
		Hide: rules.hide, Show: rules.show, Guarded: permission.NewGuard(w.project).Guards,
		External: w.cfg.Sandbox == "external", Rules: &w.extensions.forPaths,
	}
	if dir, err := w.cfg.Paths.ConfigDir(); err == nil {
		made.ConfigDir = dir
	}
	if dir, err := w.cfg.Paths.Memory(); err == nil && bool(w.cfg.Memory) {
		made.Memory = filepath.Join(dir, journal.ProjectName(w.project.Root)+".md")
	}
	if w.editor != nil {
		made.Buffers = w.editor
	}
	made.DenyFiles = w.hidden()
	for _, b := range w.extensions.bundles() {
		made.ReadDirs = append(made.ReadDirs, b.Root)
	}
	return made
}

// addedDirs are the directories that the user opened besides the project. Those that commands may write count as the
// project in all that is held back.
func (w *workspace) addedDirs() (added agent.Dirs) {
	home := w.process.Environ.Home()
	for _, dir := range w.cfg.AddDirs {
		dir, write := strings.CutSuffix(dir, ":rw")
		if dir = w.abs(names.InHome(dir, home)); write {
			added.Write = append(added.Write, dir)
		} else {
			added.Read = append(added.Read, dir)
		}
	}
	for _, dir := range w.cfg.Writable {
		added.Write = append(added.Write, w.abs(names.InHome(dir, home)))
	}
	return added
}

// instructions are the instruction files that are there for the working directory, used or not.
func (w *workspace) instructions() ([]instructions.File, error) {
	made := w.forAgent()
	seen, err := made.OpenFiles(nil)
	if err != nil {
		return nil, err
	}
	defer seen.Close()
	return made.Instructions(seen), nil
}

// canCap is an error if the run's changes are capped, and commands or servers could pass the caps here.
func (w *workspace) canCap(tools []tool.Tool) error {
	caps := w.effectCaps()
	if !caps.Any() || w.facts.Layer {
		return nil
	}
	runs := slices.ContainsFunc(tools, func(t tool.Tool) bool { return t.Kind == tool.KindRun })
	serves := slices.ContainsFunc(w.cfg.MCPServers, func(s extension.Server) bool { return len(s.Command) > 0 })
	if !runs && !serves {
		return nil
	}
	lack := w.layerLack(caps.String())
	lack.Hint += ", or --tools -bash,-shell --mcp none: then file tools alone change files"
	return lack
}
