package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/ledger"
	"artoo/conversation"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/extension"
	"artoo/tool/lsp"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
	"artoo/tool/web"
)

// open opens the session and the project, and makes the agent that works on them.
func (a *app) open(ctx context.Context) (err error) {
	if err := a.models.transport(); err != nil {
		return err
	}
	var sessions agent.Sessions
	if sessions, err = a.openSession(); err != nil {
		return err
	}
	defer func() {
		if err != nil && sessions.First != nil {
			err = errors.Join(err, sessions.First.Close())
		}
	}()
	if err := a.models.choose(); err != nil {
		return err
	}
	if a.layer != nil && isProgram(a.choice.Provider) {
		return usage(a.workspace.layerOption(), a.choice.Provider+" runs its own tools, which cannot share a layer",
			"a model that artoo calls itself")
	}
	opt, err := a.openProject(ctx)
	if err != nil {
		return err
	}
	opt.Sessions = sessions
	if err := a.offerTools(&opt); err != nil {
		return err
	}
	if err := a.openLedger(); err != nil {
		return err
	}
	if opt.Model, err = a.models.model(a.choice); err != nil {
		return err
	}
	a.marks.lost = func(err error) {
		a.warn("masked keys get different marks when this session is resumed: " + err.Error())
	}
	opt.MCP, opt.ServersTrusted = a.mcpConfig(a.extensions.mcpServers()), a.extensions.repoSettings.trusted()
	opt.Hooks, opt.SaveRule, opt.TrustPrograms = a.extensions.hooks(), a.extensions.saveRule, a.extensions.trustPrograms
	opt.Fallbacks, opt.Small, opt.Limits, opt.Ledger = a.models.fallbacks(), a.models.small(), a.limits(), a.ledger
	opt.Until, opt.Schema, opt.Checks = a.workspace.until(), a.schema, a.checks()
	opt.Secrets = agent.Secrets{Mask: a.mask, Settings: a.shown, Learn: a.parts.Learn, Begin: a.marks.begin, Begun: a.marks.belong}
	opt.Telemetry, opt.Concurrency = a.telemetry, int(a.cfg.MaxConcurrentTools)
	opt.MaxContextTokens, opt.ToolResultMaxChars = int(a.cfg.MaxContextTokens), int(a.cfg.ToolResultMaxChars)
	opt.Compact = agent.Compaction(a.cfg.Compact)
	a.agent, err = agent.ForProject(a.project.Dir, opt)
	return err
}

// openSession opens the session to go on with, whose provider and model then answer. Without one First is nil.
func (a *app) openSession() (s agent.Sessions, err error) {
	s = agent.Sessions{Ephemeral: bool(a.cfg.Ephemeral), Version: a.process.build().Version,
		Headless: a.streams.headless && !a.canAsk() && a.outcome.approve == nil}
	dir, err := a.cfg.Paths.Sessions()
	if err != nil && !s.Ephemeral {
		return s, err
	}
	s.Store = conversation.Store{Dir: dir, OpenFile: a.process.openSession}
	switch {
	case a.cfg.Resume != "":
		s.First, err = s.Store.Open(a.cfg.Resume)
	case bool(a.cfg.Continue):
		s.First, err = s.Store.Newest(a.project.Dir)
	default:
		return s, nil
	}
	if err == nil && s.First != nil {
		a.models.goOnWith(s.First)
	}
	return s, err
}

// openProject finds how commands and servers run in the project, and puts right what a killed artoo left.
func (a *app) openProject(ctx context.Context) (opt agent.ProjectOptions, err error) {
	a.workspace.nameNoGit()
	if err := a.workspace.nameHidden(); err != nil {
		return opt, err
	}
	if opt, err = a.workspace.options(ctx); err != nil {
		return opt, err
	}
	a.environ = opt.Env.Environ
	if a.layer == nil { // the unfinished changes of a killed artoo are in the project itself
		a.workspace.recover(a.environ)
	}
	a.sweep()
	return opt, nil
}

// offerTools sets the tools, sub-agents and language servers that the model is offered.
func (a *app) offerTools(opt *agent.ProjectOptions) (err error) {
	if opt.Tools, opt.PlanTools, opt.SubAgents, err = a.tools(); err != nil {
		return err
	}
	if err := cmp.Or(a.workspace.canCap(opt.Tools), a.extensions.nameOutsiders()); err != nil {
		return err
	}
	opt.Servers, err = a.workspace.servers(opt.Tools)
	return err
}

// sweep removes the temporary files of killed artoos, in a goroutine.
func (a *app) sweep() {
	swept := make(chan error, 1)
	temp := a.process.Environ.TempDir()
	go func() { swept <- tempdir.Sweep(temp) }()
	a.closers = append(a.closers, func() {
		if err := <-swept; err != nil {
			a.warn("files of a killed artoo in " + temp + " could not be removed: " + err.Error())
		}
	})
}

func (a *app) limits() agent.Limits {
	return agent.Limits{MaxTurns: a.steps(), HighestTurns: a.cfg.Policy.HighestTurns(), MaxCost: float64(a.cfg.MaxCost), MaxTotalTokens: int(a.cfg.MaxTotalTokens),
		MaxTime: time.Duration(a.cfg.MaxTime), DailyCost: float64(a.cfg.DailyCost),
		WaitLimit: time.Duration(a.cfg.WaitLimit), Effects: a.effectCaps()}
}

func (a *app) checks() (checks []agent.Check) {
	for _, c := range a.cfg.Checks {
		checks = append(checks, agent.Check(c))
	}
	return checks
}

// openLedger opens the ledger, which counts the spending of all runs. Without a home
// there is no ledger, and no cap on a day's money could hold.
func (a *app) openLedger() error {
	if a.models.free {
		return nil
	}
	dir, err := a.cfg.Paths.Ledger()
	if err == nil {
		a.ledger = ledger.Open(dir, time.Now)
	} else if a.cfg.DailyCost > 0 {
		return err
	}
	return nil
}

// headlessSteps bound the turn of a headless run, in which no one can be asked to go on.
const headlessSteps = 200

func (a *app) steps() int {
	if a.streams.headless && !a.cfg.IsSet("max_turns") {
		return min(headlessSteps, cmp.Or(a.cfg.Policy.HighestTurns(), headlessSteps))
	}
	return int(a.cfg.MaxTurns)
}

// tools are those that are offered, those that are offered once plan mode is on, and
// the sub-agents that one of them names. Tools that ask the user are left out of a
// headless run.
func (a *app) tools() (tools, later []tool.Tool, agents []agent.SubAgent, err error) {
	all := builtin.Tools(builtin.BashOptions{Path: shell.Find(a.process.Environ), Confined: a.facts.Mechanism != sandbox.None, Ask: !a.extensions.unanswered(),
		Timeout: time.Duration(a.cfg.ShellTimeout)})
	engine, err := a.searchEngine()
	if err != nil {
		return nil, nil, nil, err
	}
	if engine != nil {
		all = append(all, builtin.WebSearch(engine))
	}
	var servers []tool.Tool
	if len(a.extensions.mcpServers()) > 0 {
		servers = builtin.MCPTools()
	}
	if agents, err = a.subAgents(namesOf(slices.Concat(all, servers))); err != nil {
		return nil, nil, nil, err
	}
	all = slices.Concat(all, agent.OwnTools(agents), servers)
	on := slices.DeleteFunc(slices.Clone(all), func(t tool.Tool) bool {
		return t.Optional && (t.Name != "lsp" || a.cfg.Servers == nil) && (t.Name != agent.RememberTool || !bool(a.cfg.Memory))
	})
	names, err := a.cfg.SelectTools(namesOf(all), namesOf(on))
	if err != nil {
		return nil, nil, nil, err
	}
	// A tool that the user names is offered in any case.
	for i, t := range all {
		if t.For != "" && (slices.Contains(a.cfg.Tools, t.Name) || slices.Contains(a.cfg.Tools, "+"+t.Name)) {
			all[i].For = ""
		}
	}
	tools = builtin.Pick(all, a.withoutStandIns(all, on, names))
	if a.streams.headless && !a.answersAll() {
		tools = slices.DeleteFunc(tools, func(t tool.Tool) bool { return t.ByLoop() && t.Name == "ask_user" })
	}
	if a.streams.headless && !a.conversesWithProgram() {
		return tools, nil, agents, nil
	}
	if names, err = a.cfg.SelectTools(namesOf(all), append(namesOf(on), agent.ExitPlan)); err != nil {
		return nil, nil, nil, err
	}
	if slices.Contains(names, agent.ExitPlan) {
		later = builtin.Pick(all, []string{agent.ExitPlan})
	}
	return tools, later, agents, nil
}

// withoutStandIns drops stand-ins for tools that the user took away, unless they are named.
func (a *app) withoutStandIns(tools, on []tool.Tool, names []string) []string {
	for _, t := range tools {
		if t.Instead == "" || slices.Contains(names, t.Instead) {
			continue
		}
		others := slices.DeleteFunc(namesOf(on), func(name string) bool { return name == t.Name })
		named, err := a.cfg.SelectTools(namesOf(tools), others)
		names = slices.DeleteFunc(names, func(name string) bool {
			return name == t.Name && (err != nil || !slices.Contains(named, name))
		})
	}
	return names
}

// searchEngine is the engine of web_search. Without one it is nil, and an error if the user names the tool.
func (a *app) searchEngine() (*web.Engine, error) {
	found, err := a.cfg.SearchEngine()
	if err != nil {
		return nil, err
	}
	if found.Name != "" {
		return &web.Engine{Name: found.Name, Address: found.Address, Key: found.Key.Reveal, HTTP: a.models.http,
			UserAgent: a.web.UserAgent}, nil
	}
	if slices.Contains(a.cfg.Tools, "web_search") || slices.Contains(a.cfg.Tools, "+web_search") {
		return nil, fail(agent.KindConfig, "web_search", errors.New("no search engine is set up"),
			"set SEARXNG_URL, BRAVE_API_KEY or TAVILY_API_KEY")
	}
	return nil, nil
}

func namesOf(tools []tool.Tool) (names []string) {
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// subAgents are those of the [agents.NAME] tables and of files, the policy's before the user's; all are the names of all tools.
func (a *app) subAgents(all []string) ([]agent.SubAgent, error) {
	var list []agent.SubAgent
	for _, t := range a.cfg.Agents {
		if i, ok := a.extensions.skills.Find(extension.KindAgent, t.Name); ok && i.Place.Source == extension.SourcePolicy {
			a.warn(fmt.Sprintf("%s: agents.%s is left out: the policy has an agent of this name, %s", t.Origin, t.Name, i.Source()))
			continue
		}
		for _, name := range t.Tools {
			if !slices.Contains(all, name) {
				return nil, fail(agent.KindConfig, t.Origin, fmt.Errorf("agents.%s: no such tool: %s", t.Name, name),
					strings.Join(all, ", "))
			}
		}
		s := agent.SubAgent{Name: t.Name, Description: t.Description, Prompt: t.Prompt, Tools: t.Tools}
		if t.Model != "" {
			choice := a.models.choiceOf(t.Model)
			if isProgram(choice.Provider) {
				return nil, fail(agent.KindConfig, t.Origin,
					fmt.Errorf("agents.%s: %s runs its own tools by its own rules", t.Name, choice.Provider),
					"a model that artoo calls itself")
			}
			s.Model = func() (agent.Model, error) { return a.models.model(choice) }
		}
		list = append(list, s)
	}
	return append(list, a.fileAgents(all)...), nil
}

// servers are the known language servers as [lsp] changes them, the user's first; none where
// the model is not offered the tool that asks them.
func (w *workspace) servers(tools []tool.Tool) ([]lsp.Server, error) {
	if tool.Find(tools, "lsp") == nil {
		return nil, nil
	}
	known := lsp.Known()
	var own []lsp.Server
	for _, s := range w.cfg.Servers {
		at := slices.IndexFunc(known, func(k lsp.Server) bool { return k.Name == s.Name })
		server := lsp.Server{Name: s.Name}
		if at >= 0 {
			server = known[at]
			known = slices.Delete(known, at, at+1)
		}
		if s.Command != nil {
			server.Command = s.Command
		}
		if s.Files != nil {
			server.Files = s.Files
		}
		switch {
		case s.Off:
			continue
		case len(server.Command) == 0 || len(server.Files) == 0:
			return nil, fail(agent.KindConfig, "[lsp]", fmt.Errorf("%s is unknown, so it needs a command and files", s.Name),
				s.Name+` = { command = ["server", "--stdio"], files = [".ext"] }`)
		case slices.ContainsFunc(server.Files, func(ext string) bool { return !strings.HasPrefix(ext, ".") }):
			return nil, fail(agent.KindConfig, "[lsp]", fmt.Errorf("the files of %s are extensions with their dot", s.Name),
				`files = [".go"]`)
		}
		own = append(own, server)
	}
	return append(own, known...), nil
}
