package agent

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/sourcegraph/conc/panics"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/extension"
	"artoo/tool/git"
	"artoo/tool/journal"
	"artoo/tool/lsp"
	"artoo/tool/mcp"
	"artoo/tool/names"
	repository "artoo/tool/project"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// ProjectOptions are those of ForProject. Workspace, Env, Policy, Tools and its own
// fields may stay empty.
type ProjectOptions struct {
	Options
	// State and Cache are artoo's own directories: for the journal and layers, and for caches of
	// commands. "" keeps nothing longer than the agent.
	State, Cache string
	Confinement  *sandbox.Facts // the sandbox of this machine; nil probes for it
	Required     bool           // no command runs without the sandbox
	Layered      string         // artoo itself works on a layer over the project, and has its journal in this new directory; "" for none
	Pass         []string       // variables that commands get though they name a program's socket
	Toolchains   []string       // further directories with programs, ~ is the home directory
	Loopback     []int          // ports of the machine that are let in
	Proxy        *proxy.Proxy   // reaches the hosts of lines; nil opens none. The agent closes it.
	// Servers are the language servers of the tool lsp; may be nil. Without a sandbox only
	// ServersTrusted starts them.
	Servers        []lsp.Server
	ServersTrusted bool
	// MCP has the MCP servers; Root and Start are the agent's own, and Notice may be.
	MCP mcp.Config
}

// ForProject makes an agent that works in the project of a directory, in this order: the facts of
// the project, the environment of tools, the policy, the sandbox, the tools, the journal. Close
// ends all of it.
func ForProject(dir string, opt ProjectOptions) (a *Agent, err error) {
	if opt.Workspace == nil {
		project, err := repository.Find(dir, opt.own())
		if err != nil {
			return nil, err
		}
		opt.Workspace = &Workspace{Project: project, Shell: shell.Find(project.Environ)}
	}
	p := newProjectParts(&opt)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	confiner := p.makeConfiner()
	p.makeTools(confiner)
	p.makeServers(confiner)
	opt.Journal = p.openJournal
	if a, err = New(opt.Options); err != nil {
		return nil, err
	}
	a.end, a.reached, a.servers, a.confined = p.close, p.reached, p.servers, p.confined
	p.confined.watchFor(a.keeper)
	return a, nil
}

// own are artoo's own variables, those of commands where there are no others.
func (o *ProjectOptions) own() environ.Vars {
	if o.Workspace != nil {
		return o.Workspace.Project.Environ
	}
	if o.Env != nil {
		return o.Env.Environ
	}
	return nil
}

// projectParts are the parts that ForProject made besides the agent.
type projectParts struct {
	opt       *ProjectOptions
	workspace *Workspace
	reached   func() []string
	servers   *mcp.Manager
	confined  *confinedServers
	closers   []func() error
}

// newProjectParts makes the environment of tools and the policy, with which all begins.
func newProjectParts(opt *ProjectOptions) *projectParts {
	p := &projectParts{opt: opt, workspace: opt.Workspace}
	p.makeEnv()
	p.makePolicy()
	return p
}

func (p *projectParts) close() (err error) {
	for _, closer := range slices.Backward(p.closers) {
		err = errors.Join(err, closer())
	}
	p.closers = nil
	return err
}

// Reached lists the places of this machine that commands reach besides the system, a kind a row; nil without a sandbox.
func (a *Agent) Reached() []string {
	if a.reached == nil {
		return nil
	}
	return a.reached()
}

// onClose has close called when the agent is closed, the last one first.
func (p *projectParts) onClose(failed string, close func() error) {
	p.closers = append(p.closers, func() error {
		if err := close(); err != nil {
			return fmt.Errorf("%s: %w", failed, err)
		}
		return nil
	})
}

func (p *projectParts) warn(text string) {
	if p.opt.Notice != nil {
		p.opt.Notice(text)
	}
}

func (p *projectParts) makeEnv() {
	if p.opt.Env == nil {
		p.opt.Env = &tool.Env{Environ: p.workspace.Project.Environ}
	}
	host := &confine.Host{Warn: p.warn}
	p.opt.Env.Start = host.Start
	p.onClose("background processes could not be stopped", host.Close)
}

func (p *projectParts) makePolicy() {
	at := p.workspace.Project
	if p.opt.Policy == nil {
		p.opt.Policy = &permission.Policy{Mode: permission.ModeAsk, NoProject: at.None, Root: at.Root, Dir: at.Dir,
			World: permission.World{Environ: p.opt.Env.Environ, Guard: permission.NewGuard(at)}}
		p.opt.Policy.Shell.Name, p.opt.Policy.Shell.Locale = filepath.Base(shell.Find(at.Environ)), environ.ShellLocale(p.opt.Env.Environ)
	}
	p.opt.Guard = p.opt.Policy.World.Guard
}

// CompletePolicy adds to the policy how lines are confined, and whether an earlier session changed files of the project: a
// rule for outside that was written before may then ask once.
func (o *ProjectOptions) CompletePolicy() {
	p, layered := o.Policy, o.Layered != ""
	p.Confinement = o.Workspace.Confinement(*o.Confinement, o.Required || layered)
	p.Confinement.Layered, p.Confinement.Capped = layered, o.Limits.Effects.Any()
	p.Seen = &permission.Seen{}
	if slices.ContainsFunc(p.AllowRules, func(r permission.Rule) bool { return r.Outside }) && o.State != "" {
		sessions, err := journal.Sessions(o.State, p.Root)
		p.Seen.Earlier = err != nil ||
			slices.ContainsFunc(sessions, func(s journal.Session) bool { return len(s.Turns) > 0 })
	}
}

// makeConfiner sets the confiner of a session's commands; nil without one.
func (p *projectParts) makeConfiner() *confine.Confiner {
	at := p.workspace.Project
	p.workspace.unseen = &unseen{Unseen: git.Unseen{Own: at.Environ, Admitted: at.GitDirs}}
	if p.opt.Confinement == nil {
		p.opt.Confinement = new(sandbox.Probe(context.Background(), "").For(p.workspace.Project.Root))
	}
	facts := p.opt.Confinement
	p.opt.CompletePolicy()
	if facts.Mechanism == sandbox.None {
		return nil
	}
	own := p.workspace.Project.Environ
	home := own.Home()
	variables := p.opt.Env.Environ
	guard := p.opt.Guard
	config := confine.Config{
		Config: sandbox.Config{
			Root: p.workspace.Project.Root, Common: p.workspace.Project.Common, Home: home,
			Toolchains: homeDirs(p.opt.Toolchains, p.workspace.Project.Dir, home), Loopback: p.opt.Loopback,
			Denied: p.opt.Policy.World.Denied, Shown: p.workspace.unseen.Marked, Protected: p.opt.Policy.World.Protected, IsCache: permission.IsCache,
		},
		Cache: p.opt.Cache, Own: own, Environ: variables, Pass: p.opt.Pass,
		Servers: p.opt.Servers != nil, Trusted: p.opt.Policy.TrustsPrograms, Proxy: p.opt.Proxy,
	}
	if p.opt.State != "" {
		config.Layers = filepath.Join(p.opt.State, "layers")
	}
	if at := p.workspace.Project; p.opt.Layered != "" && at.Git {
		config.Fixed = append(config.Fixed, filepath.Join(at.Root, ".git"))
		if at.Common != "" {
			config.Fixed = append(config.Fixed, at.Common)
		}
	}
	config.Write = slices.Clone(p.workspace.Added.Write)
	config.Read = slices.Concat(p.workspace.Added.Read, p.workspace.ReadDirs, at.Stores, goSettings(environ.Vars(variables).Get, home))
	config.Late = skillDirs(p.opt.Skills)
	confiner := confine.New(config, *facts)
	// The first command finds less to do. An error or a crash here recurs there.
	go func() { _ = panics.Try(func() { _, _ = guard.Look() }) }()
	p.opt.Sandbox, p.reached = confiner, confiner.Places
	p.onClose("the sandbox did not shut down", confiner.Close)
	if p.opt.Proxy != nil {
		p.onClose("the proxy did not shut down", p.opt.Proxy.Close)
	}
	return confiner
}

func (p *projectParts) makeTools(confiner *confine.Confiner) {
	if p.opt.Tools == nil {
		p.opt.Tools = append(builtin.Tools(builtin.BashOptions{Path: shell.Find(p.workspace.Project.Environ), Confined: confiner != nil, Ask: true}),
			OwnTools(p.opt.SubAgents)...)
		p.opt.Tools = slices.DeleteFunc(p.opt.Tools, func(t tool.Tool) bool { return t.Optional })
		if len(p.opt.MCP.Servers) > 0 {
			p.opt.Tools = append(p.opt.Tools, builtin.MCPTools()...)
		}
	}
	if p.opt.Servers == nil || tool.Find(p.opt.Tools, "lsp") == nil {
		return
	}
	servers := lsp.New(lsp.Config{Root: p.workspace.Project.Root, Servers: p.opt.Servers, Own: p.workspace.Project.Environ, Environ: p.opt.Env.Environ,
		Start: func(cmd *exec.Cmd) (shell.Started, error) {
			switch {
			case confiner != nil:
				return confiner.StartServer(cmd)
			case p.opt.ServersTrusted:
				return shell.StartHere(cmd)
			}
			return nil, errors.New("is not started: it runs the project's own files, and nothing confines it here; " +
				"artoo trust allows it")
		}})
	p.opt.Env.LSP = servers
	p.closers = append(p.closers, func() error { servers.Close(); return nil })
}

// openJournal opens the journal of a session; "" is one that is not kept. from is the one it is a
// copy of.
func (p *projectParts) openJournal(session, from string) (*journal.Journal, error) {
	root, state := p.workspace.Project.Root, p.opt.State
	dir := journal.Dir(state, root, session)
	if p.opt.Layered != "" {
		dir = p.opt.Layered
	} else if session == "" || state == "" {
		var err error
		if dir, err = p.temporaryJournal(); err != nil {
			return nil, err
		}
	} else if from != "" {
		if err := journal.Copy(journal.Dir(state, root, from), dir); err != nil {
			p.warn("earlier changes cannot be undone in this session: " + err.Error())
		}
	}
	return journal.Open(p.workspace.JournalConfig(dir, state, p.opt.Env))
}

// temporaryJournal makes a directory, until the end, for the journal of a session that is not
// kept: among the others, where the next artoo finds it after a kill, else among temporary files.
func (p *projectParts) temporaryJournal() (dir string, err error) {
	if p.opt.State != "" {
		at := journal.Dir(p.opt.State, p.workspace.Project.Root, "")
		if os.MkdirAll(at, 0o700) == nil {
			dir, _ = os.MkdirTemp(at, journal.Ephemeral) // else below
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp(p.workspace.Project.Environ.TempDir(), "artoo-undo-"); err != nil {
			return "", err
		}
	}
	p.closers = append(p.closers, func() error { return journal.Remove(dir) })
	return dir, nil
}

// homeDirs are directories as the user wrote them, seen from at.
func homeDirs(dirs []string, at, home string) (list []string) {
	for _, dir := range dirs {
		list = append(list, names.Abs(at, names.InHome(dir, home)))
	}
	return list
}

// goSettings is the file of go env -w, which commands read; none where an address in it may hold
// credentials.
func goSettings(variable func(string) string, home string) []string {
	config := cmp.Or(variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	file := cmp.Or(variable("GOENV"), filepath.Join(config, "go", "env"))
	data, err := os.ReadFile(file)
	if err != nil || !filepath.IsAbs(file) || bytes.ContainsRune(data, '@') {
		return nil
	}
	return []string{file}
}

// ProjectServers makes the manager of a project's MCP servers where there is no conversation: each starts as in one. It
// needs Workspace; of Options only Env, Policy, Skills and Notice count. end ends the servers and all that was made
// for them.
func ProjectServers(opt ProjectOptions) (servers *mcp.Manager, end func() error, err error) {
	p := newProjectParts(&opt)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if err := p.workspace.openFiles(opt.Env, opt.Policy, nil); err != nil { // commands cannot see the denied ones
		return nil, nil, err
	}
	p.closers = append(p.closers, opt.Env.Files.Close)
	confiner := p.makeConfiner()
	k := &keeper{session: &session{opt: opt.Options}, approved: new(madeFiles)}
	if slices.ContainsFunc(opt.MCP.Servers, extension.Server.Confined) {
		if k.journal, err = p.openJournal("", ""); err != nil {
			return nil, nil, err
		}
		p.closers = append(p.closers, k.journal.Close)
	}
	p.makeServers(confiner)
	p.confined.watchFor(k)
	return p.servers, p.close, nil
}

// makeServers makes the manager of the MCP servers, which is in use if there are any and the user did
// not take mcp_call away. It starts none.
func (p *projectParts) makeServers(confiner *confine.Confiner) {
	config := p.opt.MCP
	config.Root = p.workspace.Project.Root
	if config.Notice == nil {
		config.Notice = p.warn
	}
	outside := p.opt.Env.Start
	p.confined = &confinedServers{confiner: confiner, notify: p.warn, hosts: p.opt.Policy.HostsOf,
		layered: p.opt.Limits.Effects.Any()}
	config.Start = func(cmd *exec.Cmd, s extension.Server) (shell.Started, error) {
		if s.Confined() {
			return p.confined.start(cmd, s)
		}
		return outside(cmd)
	}
	p.servers = mcp.New(config)
	p.closers = append(p.closers, p.confined.wait, p.servers.Close)
	if len(config.Servers) == 0 || tool.Find(p.opt.Tools, builtin.CallTool) == nil {
		p.opt.Tools = slices.DeleteFunc(slices.Clone(p.opt.Tools), func(t tool.Tool) bool { return ofServers(t.Name) })
		return
	}
	p.opt.Env.MCP = p.servers
}
