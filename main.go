// Artoo is a coding agent that behaves like a Unix program: a conversation in
// any terminal, or one stage of a pipeline. This file wires the rooms together;
// docs/architecture.md is the map.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"artoo/agent"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/demo"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
	"artoo/provider/transport"
	"artoo/tool"
	"artoo/ui"
	"artoo/ui/cli"
	"artoo/ui/headless"
	"artoo/ui/screen"
)

// Set by the Makefile's -ldflags.
var (
	version = ""
	commit  = ""
	date    = ""
)

func main() { os.Exit(run(os.Args[1:])) }

// run is the whole program; its result is the exit code.
func run(args []string) int {
	a := &app{began: time.Now()}
	err := cli.Execute(context.Background(), args, a.deps())
	return a.exit(err)
}

// app is one run.
type app struct {
	began  time.Time
	cfg    *config.Config
	screen *screen.Screen
	who    who
	choice config.Choice

	project tool.Project
	http    *http.Client
	log     *transport.Log
	desk    *ui.Desk
	place   *agent.Workspace

	ask headless.Asker // approves the demo's own calls; nil otherwise

	asked headless.Format // what stdout was wanted to hold; "" where there is no answer

	// What a headless run came to, for its result and its exit code.
	signals  *headless.Signals
	response *agent.Response
	stdin    string // what became of standard input
	session  string
}

// who says who is there.
type who struct {
	headless     bool
	in, out, err bool // are terminals
	watched      bool // stderr is a terminal with artoo in its foreground
}

// deps is what the command line needs.
func (a *app) deps() cli.Deps {
	d := cli.Deps{
		Out: os.Stdout, Build: build(), Nearest: config.Nearest,
		Run: a.talk, Demo: a.demo, Sessions: a.sessions, Explain: a.explain,
	}
	for _, o := range config.Options() {
		shown := o.DefaultNote
		if shown == "" {
			shown = o.Default
		}
		d.Options = append(d.Options, cli.Option{
			Key: o.Key, Section: o.Section, Group: o.Group, Flag: o.Flag, Short: o.Short, Arg: o.Arg, Env: o.Env, NoFile: o.NoFile,
			Kind: string(o.Kind), Switch: o.Kind == config.KindBool, Default: shown, Choices: o.Choices, Aliases: o.Aliases, Meaning: o.Meaning,
		})
	}
	for _, e := range agent.Exits {
		row := cli.Exit{Code: e.Code, Meaning: e.Meaning}
		for _, k := range e.Kinds {
			row.Kinds = append(row.Kinds, string(k))
		}
		d.Exits = append(d.Exits, row)
	}
	for _, v := range config.ForeignVariables() {
		d.Variables = append(d.Variables, cli.Variable{Name: v.Name, Meaning: v.Meaning})
	}
	return d
}

func build() cli.Build {
	b := cli.Build{Version: strings.TrimPrefix(version, "v"), Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok && b.Version == "" {
		b.Version = strings.TrimPrefix(info.Main.Version, "v")
	}
	return b
}

// load reads the settings and makes the screen; what is wrong with the settings
// can be shown even so.
func (a *app) load(inv cli.Invocation, prompt bool) error {
	dir, err := os.Getwd()
	if err != nil {
		return &agent.Failure{Kind: agent.KindUsage, What: "working directory", Err: err, Hint: "cd into a directory that exists"}
	}
	home, _ := os.LookupEnv("HOME")
	if a.project, err = tool.FindProject(dir, home, os.Geteuid() == 0); err != nil {
		return &agent.Failure{Kind: agent.KindUsage, What: "working directory", Err: err, Hint: "cd into a directory that can be read"}
	}
	a.cfg, err = config.Load(config.LoadOptions{Flags: inv.Flags, ProjectRoot: a.project.Root})
	if err != nil {
		return err
	}
	a.who = present(a.cfg, prompt)
	a.screen = a.newScreen()
	warnings, err := a.cfg.Later()
	for _, w := range append(a.cfg.Warnings, warnings...) {
		a.warn(w)
	}
	return err
}

// present decides who is there.
func present(cfg *config.Config, prompt bool) who {
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	w := who{in: tty(os.Stdin), out: tty(os.Stdout), err: tty(os.Stderr)}
	ci := !slices.Contains([]string{"", "0", "false"}, strings.ToLower(os.Getenv("CI")))
	w.headless = !cfg.Interactive && (cfg.Print || !w.in || !w.err || prompt && (!w.out || ci))
	w.watched = w.err && ui.Foreground(os.Stderr)
	return w
}

// newScreen makes the screen for the settings and streams there are.
func (a *app) newScreen() *screen.Screen {
	cfg := a.cfg
	profile, _ := screen.ProfileDecision(cfg.UI, os.Getenv, a.who.err)
	rich := profile == screen.Rich // plain and spoken have no escapes unless they are asked for
	home, _ := os.LookupEnv("HOME")
	o := screen.Options{
		Out: os.Stdout, Err: os.Stderr, OutTTY: a.who.out, ErrTTY: a.who.err, Profile: profile,
		OutColor: screen.ColorDecision(cfg.Color, os.Getenv, a.who.out && rich), ErrColor: screen.ColorDecision(cfg.Color, os.Getenv, a.who.err && rich),
		UTF8: screen.UTF8Decision(os.Getenv), Width: func() int { cols, _ := a.size(); return cols },
		Conversation: !a.who.headless, Hold: a.who.headless && !a.who.out, Quiet: cfg.Quiet, Verbose: cfg.Debug,
		SSH: os.Getenv("SSH_TTY") != "" || os.Getenv("SSH_CONNECTION") != "", Status: screen.StatusMode(cfg.Status),
		Root: a.project.Root, Home: home,
		Broken: func(err error) { a.broken(err) },
	}
	if a.who.headless && cfg.Output != string(headless.Text) {
		o.Out, o.OutTTY, o.Hold = io.Discard, false, true // stdout is the JSON's
	}
	return screen.New(o)
}

// size is the size of the terminal, or what has to do for one.
func (a *app) size() (cols, rows int) {
	tty := os.Stderr
	if a.who.out {
		tty = os.Stdout
	}
	cols, rows, err := term.GetSize(int(tty.Fd()))
	if err != nil {
		cols, rows = 0, 0
	}
	return screen.WidthDecision(os.Getenv, func() int { return cols }), rows
}

// open makes everything a turn needs.
func (a *app) open() error {
	if err := a.transport(); err != nil {
		return err
	}
	if err := a.choose(); err != nil {
		return err
	}
	environ, withheld := tool.ChildEnviron(os.Environ(), a.cfg.PassEnv, a.cfg.KeyVariables()...)
	env := &tool.Env{Dir: a.project.Root, Environ: environ, Withheld: withheld, ResultMax: a.cfg.ToolResultMaxChars, ShellTimeout: a.cfg.ShellTimeout, ShellTimeoutMax: a.cfg.ShellTimeoutMax}
	policy, err := a.policy(env)
	if err != nil {
		return err
	}
	tools, err := a.tools()
	if err != nil {
		return err
	}
	sessions, err := a.cfg.Paths.Sessions()
	if err != nil && !a.cfg.Ephemeral {
		return err
	}
	a.desk = &ui.Desk{
		Agent: &agent.Agent{
			Tools: tools, Env: env, Policy: policy, Concurrency: a.cfg.MaxConcurrentTools, SaveRule: a.saveRule,
			Limits: agent.Limits{MaxTurns: a.cfg.MaxTurns, MaxCost: a.cfg.MaxCost, MaxTotalTokens: a.cfg.MaxTotalTokens, MaxTime: a.cfg.MaxTime},
		},
		Store: conversation.Store{Dir: sessions}, Dir: a.project.Dir, Begin: a.begin, Switch: a.switchModel,
	}
	if err := a.use(a.choice); err != nil {
		return err
	}
	a.place = a.workspace()
	session, err := a.wanted()
	if err != nil {
		return err
	}
	return a.begin(session)
}

// workspace is what begins sessions.
func (a *app) workspace() *agent.Workspace {
	w := &agent.Workspace{
		Project: a.project, NoProject: a.cfg.NoProject, Replace: a.cfg.System, Append: a.cfg.AppendSystem, Shell: tool.FindShell(),
		Headless: a.who.headless && !a.canAsk(), Began: a.began, Version: build().Version, Store: a.desk.Store, Ephemeral: a.cfg.Ephemeral,
		Budget: a.budget, ToolResultMaxChars: a.cfg.ToolResultMaxChars, AddDirs: a.cfg.AddDirs,
	}
	if dir, err := a.cfg.Paths.ConfigDir(); err == nil { // without a home there is none
		w.ConfigDir = dir
	}
	if file, err := a.cfg.Paths.Credentials(); err == nil {
		w.DenyFiles = append(w.DenyFiles, file)
	}
	if file, err := filepath.Abs(a.cfg.APIKeyFile); err == nil && a.cfg.APIKeyFile != "" {
		w.DenyFiles = append(w.DenyFiles, file)
	}
	return w
}

// begin puts a session into the agent; nil begins a new one.
func (a *app) begin(s *conversation.Session) error {
	notices, err := a.place.Begin(a.desk.Agent, s)
	a.session = a.desk.Agent.SessionID
	for _, n := range notices {
		a.warn(n)
	}
	return err
}

func (a *app) warn(text string) {
	a.screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: text})
}

// wanted is the session to go on with, nil for a new one.
func (a *app) wanted() (*conversation.Session, error) {
	switch {
	case a.cfg.Resume != "":
		return a.desk.Store.Open(a.cfg.Resume)
	case a.cfg.Continue:
		return a.desk.Store.Newest(a.project.Dir)
	}
	return nil, nil
}

func (a *app) saveRule(rule string) error {
	path, err := a.cfg.Paths.ConfigFile()
	if err != nil {
		return err
	}
	if a.cfg.File != "" {
		path = a.cfg.File
	}
	return config.AddRule(path, a.project.Root, "allow", rule)
}

// transport makes the HTTP client and the record of what passes.
func (a *app) transport() error {
	a.log = &transport.Log{Text: a.screen.Note}
	a.log.SetOn(a.cfg.Debug)
	if a.cfg.Log != "" {
		f, err := os.OpenFile(a.cfg.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return &agent.Failure{Kind: agent.KindConfig, What: a.cfg.Origin("log"), Err: err, Hint: "a file that can be written"}
		}
		a.log.JSON = f // open until the process ends, like every log
	}
	var err error
	a.http, err = transport.New(transport.Options{CAFile: a.cfg.CAFile, Offline: a.cfg.Offline, Log: a.log})
	return err
}

// choose finds the provider and model, if they are not given.
func (a *app) choose() error {
	if a.choice.Provider != "" {
		return nil
	}
	hand, err := a.cfg.AtHand()
	if err != nil {
		return err
	}
	situation := config.Situation{AtHand: hand, DefaultModel: a.defaultModel, Catalog: provider.ProviderFor, Probe: a.probe}
	a.choice, err = a.cfg.Choose(situation)
	var several *config.SeveralProviders
	if errors.As(err, &several) && !a.who.headless && a.who.in {
		if situation.AtHand, err = a.askProvider(several.Names); err == nil {
			a.choice, err = a.cfg.Choose(situation)
		}
	}
	if err != nil {
		return err
	}
	if a.choice.Note != "" && a.who.headless { // the banner tells it in a conversation
		a.screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: a.choice.Note})
	}
	a.cfg = a.cfg.With(a.choice)
	return nil
}

// askProvider asks once which provider to take, and writes it down.
func (a *app) askProvider(names []string) ([]string, error) {
	name, err := ui.Choose(context.Background(), os.Stdin, a.screen, "Several providers are at hand. Which one shall artoo use from now on?", names)
	if err != nil {
		return nil, &config.SeveralProviders{Names: names}
	}
	path := a.cfg.File
	if path == "" {
		path, err = a.cfg.Paths.ConfigFile()
	}
	if err == nil {
		err = config.SetProvider(path, name)
	}
	if err != nil {
		a.warn("the choice holds for this run only: " + err.Error())
	} else {
		a.screen.Note("written to " + path)
	}
	return []string{name}, nil
}

// How long a server is looked for that may not be there, on this machine and
// elsewhere.
const (
	probeLocal  = 200 * time.Millisecond
	probeRemote = 2 * time.Second
)

// probe names the provider whose server answers.
func (a *app) probe() string {
	p, err := a.ollama("ollama")
	if err != nil {
		return ""
	}
	limit := probeRemote
	if p.Local {
		limit = probeLocal
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	if !p.Answers(ctx) {
		return ""
	}
	return p.Name
}

// defaultModel is the provider's; servers with one model of their own mostly
// take any name, and Ollama's is the last that was pulled.
func (a *app) defaultModel(name string) string {
	switch name {
	case "compatible":
		return "default"
	case "ollama":
		p, err := a.ollama(name)
		if err != nil {
			return ""
		}
		ctx, cancel := context.WithTimeout(context.Background(), probeRemote)
		defer cancel()
		models, err := p.Models(ctx)
		if err != nil || len(models) == 0 { // then the user has to name one
			return ""
		}
		return models[0].ID
	}
	return provider.DefaultModel(name)
}

// switchModel makes another model answer from the next message on.
func (a *app) switchModel(_ context.Context, name string) (string, error) {
	choice := config.Choice{Provider: a.choice.Provider, Model: name}
	if first, rest, ok := strings.Cut(name, "/"); ok && a.provides(first) && rest != "" {
		choice = config.Choice{Provider: first, Model: rest}
	}
	if err := a.use(choice); err != nil {
		return "", err
	}
	a.choice = choice
	a.desk.Agent.Conversation.SetBudget(a.budget())
	return choice.Provider + "/" + choice.Model, nil
}

// provides reports whether name is a provider: a known one, or one of the file.
func (a *app) provides(name string) bool {
	_, own := a.cfg.Providers[name]
	return own || slices.Contains(config.KnownProviders(), name)
}

// use puts a provider and model into the agent.
func (a *app) use(choice config.Choice) error {
	wire, err := a.wire(choice)
	if err != nil {
		return err
	}
	ag := a.desk.Agent
	ag.Provider = &provider.Retrier{Provider: wire, MaxTime: retryTime(a.cfg.MaxRetryTime)}
	ag.ProviderName, ag.Describe = choice.Provider, nil
	if d, ok := wire.(provider.Describer); ok {
		ag.Describe = func(ctx context.Context) { a.describe(ctx, d, choice) }
	}
	ag.Defaults = provider.Options{Model: choice.Model, Temperature: a.cfg.Temperature, Effort: provider.Effort(a.cfg.Effort)}
	info, _ := provider.Lookup(choice.Provider, choice.Model)
	a.know(merge(info, a.cfg.Providers[choice.Provider].Models[choice.Model]))
	return nil
}

// describe takes over what the server says of the model, once. Where it cannot
// say it, the request that follows meets the same error and tells it.
func (a *app) describe(ctx context.Context, d provider.Describer, choice config.Choice) {
	info, err := d.Describe(ctx, choice.Model)
	if err != nil {
		return
	}
	a.desk.Agent.Describe = nil
	window := info.Context // the server was asked for what the user says of it
	info = merge(info, a.cfg.Providers[choice.Provider].Models[choice.Model])
	info.Context = window
	a.know(info)
	a.desk.Agent.Conversation.SetBudget(a.budget())
}

// know puts the facts of the model into the agent, and what follows from them.
func (a *app) know(info provider.ModelInfo) {
	ag := a.desk.Agent
	ag.Info, ag.Defaults.MaxTokens = info, min(a.cfg.MaxTokens, info.Context/4)
	if info.MaxOutput > 0 {
		ag.Defaults.MaxTokens = min(ag.Defaults.MaxTokens, info.MaxOutput)
	}
}

// retryTime is the setting as the Retrier takes it: there 0 is the default.
func retryTime(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// budget is the context budget: never more than the window less the reply.
func (a *app) budget() int {
	ag := a.desk.Agent
	return min(a.cfg.MaxContextTokens, ag.Info.Context-ag.Defaults.MaxTokens)
}

// merge puts what the user says of a model over what is known.
func merge(info provider.ModelInfo, m config.Model) provider.ModelInfo {
	if m.Context > 0 {
		info.Context = m.Context
	}
	if m.MaxOutput > 0 {
		info.MaxOutput = m.MaxOutput
	}
	if p := m.Price; p != nil {
		said := func(part *float64) float64 {
			if part == nil {
				return 0
			}
			return *part
		}
		info.Price = &provider.Price{Input: said(p.Input), Output: said(p.Output), CacheRead: said(p.CacheRead), CacheWrite: said(p.CacheWrite)}
	}
	return info
}

// wire makes the provider that speaks the chosen one's protocol.
func (a *app) wire(choice config.Choice) (provider.Provider, error) {
	name := choice.Provider
	s, err := a.server(name)
	if err != nil {
		return nil, err
	}
	switch name {
	case demo.Name:
		return &demo.Provider{Pace: a.pace()}, nil
	case "anthropic":
		return &anthropic.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local}, nil
	case "gemini":
		return &gemini.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local}, nil
	case "ollama":
		p, err := a.ollama(name)
		if err == nil {
			p.Window = a.window(choice)
		}
		return p, err
	case "claude-cli", "codex-cli", "gemini-cli":
		return nil, &agent.Failure{Kind: agent.KindUsage, What: "provider " + name, Err: errors.New("comes with a later version"),
			Hint: "--provider with one of anthropic, openai, gemini, openrouter, deepseek, ollama, compatible"}
	}
	return &openai.Chat{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Quirks: openai.QuirksFor(name)}, nil
}

// ollama makes the provider of that name without its model's window.
func (a *app) ollama(name string) (*ollama.Provider, error) {
	s, err := a.server(name)
	return &ollama.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local}, err
}

// window is the context to ask a server for, 0 where the user says nothing.
func (a *app) window(choice config.Choice) int {
	want := a.cfg.Providers[choice.Provider].Models[choice.Model].Context
	if a.cfg.IsSet("max_context_tokens") {
		if budget := a.cfg.MaxContextTokens + a.cfg.MaxTokens; want == 0 || budget < want {
			return budget
		}
	}
	return want
}

// server is what the settings say of a provider's server.
type server struct {
	address string // "" is the provider's own
	local   bool   // on a loopback or private address
	idle    time.Duration
	key     func(context.Context) (string, error)
	headers map[string]string
}

func (a *app) server(name string) (server, error) {
	address, _, err := a.cfg.Endpoint(name)
	if err != nil {
		return server{}, err
	}
	if name == "ollama" {
		address = ollama.Address(address)
	}
	local := false
	if u, err := url.Parse(address); err == nil && address != "" {
		local = transport.Local(u.Hostname())
	}
	idle := a.cfg.IdleTimeout
	switch {
	case !a.cfg.IsSet("idle_timeout") && local:
		idle = 0 // a local server may think for as long as it likes
	case idle == 0:
		idle = -1
	}
	headers := map[string]string{}
	for k, v := range a.cfg.Providers[name].ExtraHeaders {
		headers[k] = v.Reveal()
	}
	return server{address: address, local: local, idle: idle, key: a.cfg.KeyFunc(name), headers: headers}, nil
}

// pace lets a person watch the demo.
func (a *app) pace() func(context.Context, time.Duration) {
	if a.who.headless || a.cfg.Interactive {
		return nil
	}
	return demo.Wait
}

func (a *app) policy(env *tool.Env) (*agent.Policy, error) {
	project := a.cfg.Rules(a.project.Root)
	p := &agent.Policy{
		Mode: agent.Mode(a.cfg.Approval), NoProject: a.project.None != "", Root: a.project.Root,
		Reach:    func(dir, arg string, recursive bool) error { return env.Files.Reach(dir, arg, recursive) },
		GitRuns:  func(dir string) error { return inProject(dir, tool.Project.GitRuns) },
		GitShows: func(dir string) error { return inProject(dir, tool.Project.GitShows) },
	}
	var errs [3]error
	p.AllowRules, errs[0] = agent.ParseRules(slices.Concat(project.Allow, a.cfg.Allow))
	p.AskRules, errs[1] = agent.ParseRules(slices.Concat(project.Ask, a.cfg.Ask))
	p.DenyRules, errs[2] = agent.ParseRules(slices.Concat(project.Deny, a.cfg.Deny))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, &agent.Failure{Kind: agent.KindUsage, What: "rules", Err: err, Hint: "--allow 'bash(go test:*)'"}
	}
	return p, p.CheckMode()
}

// inProject asks the project that dir belongs to.
func inProject(dir string, ask func(tool.Project) error) error {
	p, err := tool.FindProject(dir, "", false)
	if err != nil {
		return err
	}
	return ask(p)
}

func (a *app) tools() ([]tool.Tool, error) {
	offers := tool.BuiltIn(tool.FindShell())
	var all, on []string
	for _, o := range offers {
		all = append(all, o.Tool.Name)
		if o.Default {
			on = append(on, o.Tool.Name)
		}
	}
	names, err := a.cfg.SelectTools(all, on)
	return tool.Pick(offers, names), err
}

// talk is `artoo [prompt]`: a conversation, or a headless run.
func (a *app) talk(ctx context.Context, inv cli.Invocation) error {
	a.asked = asked(inv)
	prompt, dash := inv.Prompt()
	if err := a.load(inv, prompt != ""); err != nil {
		return err
	}
	if a.who.headless {
		return a.headless(ctx, prompt, dash)
	}
	err := a.open()
	var none *config.NoProvider
	if errors.As(err, &none) {
		a.screen.Block("artoo needs a model to talk to. Ways in:\n\n  " + strings.Join(none.Ways(), "\n  ") + "\n")
		return &agent.Failure{Kind: agent.KindAuth, Err: none, Hint: "artoo demo"}
	}
	if err != nil {
		return err
	}
	return a.converse(ctx, prompt)
}

// converse holds a conversation in the terminal.
func (a *app) converse(ctx context.Context, first string) error {
	defer a.close()
	history := ""
	if a.cfg.History && !a.cfg.Interactive {
		if path, err := a.cfg.Paths.History(); err == nil { // without a home there is none
			history = path
		}
	}
	deps := a.desk.Deps()
	deps.Config = a.settings
	deps.Debug = func(on *bool) bool {
		if on != nil {
			a.log.SetOn(*on)
		}
		return a.log.On()
	}
	profile, why := screen.ProfileDecision(a.cfg.UI, os.Getenv, a.who.err)
	var resumed *ui.Resumed
	if s := a.desk.Agent.Conversation.Session(); s != nil && s.Resumed() {
		resumed = a.desk.Resumed(s)
	}
	t, err := ui.New(ui.Options{
		In: os.Stdin, Tty: os.Stderr, Screen: a.screen, Sender: a.desk, Profile: profile, Lines: a.cfg.Interactive, Size: a.size,
		History: history, Pager: a.cfg.Pager, Environ: os.Environ(), Deps: deps, Resumed: resumed, First: first,
	})
	if err != nil {
		return err
	}
	a.screen.Banner(screen.BannerInfo{Version: build().Version, Model: a.choice.Model, Dir: a.project.Dir, Branch: a.project.Branch(), Why: why, Notes: a.notes()})
	code, err := t.Run(ctx)
	if err != nil {
		return err
	}
	return exitStatus(code)
}

// notes are what a person should know before the first message.
func (a *app) notes() []string {
	var notes []string
	if a.choice.Note != "" {
		notes = append(notes, a.choice.Note)
	}
	if a.project.None != "" {
		notes = append(notes, a.project.None+": every change and every command is asked")
	}
	return notes
}

// settings are the rows of /config.
func (a *app) settings() []ui.ConfigRow {
	var rows []ui.ConfigRow
	for _, v := range a.cfg.Values() {
		rows = append(rows, ui.ConfigRow{Name: v.Option.Key, Value: v.Value, Origin: v.Origin})
	}
	return rows
}

// demo is `artoo demo`: the scripted model on a small broken program, in a
// directory of its own. Without a person it approves its own calls.
func (a *app) demo(ctx context.Context, inv cli.Invocation, yes bool) error {
	a.asked = asked(inv)
	if err := a.load(inv, true); err != nil {
		return err
	}
	dir, err := demo.Scratch()
	if err != nil {
		return err
	}
	a.project = tool.Project{Root: dir, Dir: dir}
	a.choice = config.Choice{Provider: demo.Name, Model: a.defaultModel(demo.Name)}
	a.cfg = a.cfg.With(a.choice)
	a.cfg.Ephemeral, a.cfg.Stdin = true, string(headless.StdinNever)
	a.who.headless = a.who.headless || yes
	a.screen = a.newScreen()
	if !a.who.headless {
		if err := a.open(); err != nil {
			return err
		}
		err = a.converse(ctx, demo.Prompt)
	} else {
		a.ask = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if demo.Scripted(q.Call.ToolCall) {
				a.screen.Question(q)
				a.screen.Decided(q, agent.Answer{Verdict: agent.Yes})
				return agent.Answer{Verdict: agent.Yes}, nil
			}
			return agent.Answer{}, agent.ErrNobody
		}
		err = a.headless(ctx, demo.Prompt, false)
	}
	var status exitStatus
	if err != nil && !(errors.As(err, &status) && status == 0) {
		return err
	}
	if mended, why := demo.Outcome(a.desk.Agent.Conversation.Messages()); !mended {
		return &agent.Failure{Kind: agent.KindInternal, What: "demo", Err: errors.New(why), Hint: "artoo demo, with nothing denied and its tools on"}
	}
	a.screen.Note("the mended program is in " + dir)
	return nil
}

// asked is the output format as far as flags and environment tell it, before
// the settings are read: what is wrong with them is an exit in JSON too.
func asked(inv cli.Invocation) headless.Format {
	format := headless.Format(os.Getenv("ARTOO_OUTPUT"))
	if given := inv.Flags["output"]; len(given) > 0 {
		format = headless.Format(given[len(given)-1])
	}
	if format != headless.JSON && format != headless.JSONL {
		return headless.Text
	}
	return format
}

// format is what stdout holds.
func (a *app) format() headless.Format {
	switch {
	case a.asked == "":
	case a.cfg == nil:
		return a.asked
	case a.who.headless:
		return headless.Format(a.cfg.Output)
	}
	return headless.Text
}

// exitStatus is an exit code that has been explained already.
type exitStatus int

// Error is never shown.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// canAsk reports whether a person can be asked beside a pipe.
func (a *app) canAsk() bool { return !a.cfg.Print && a.who.watched }

// headless runs one message.
func (a *app) headless(ctx context.Context, prompt string, dash bool) error {
	ctx, a.signals = headless.Watch(ctx, os.Stdout, os.Stderr)
	defer a.signals.End()
	if err := a.open(); err != nil {
		return err
	}
	defer a.close()
	in := headless.Stdin{
		File: os.Stdin, Mode: headless.StdinMode(a.cfg.Stdin), Prompt: prompt, Dash: dash, Patient: a.who.watched, Wait: a.cfg.StdinWait,
		Max: int64(a.cfg.StdinMax), Dir: a.place.Output(), Notice: func(text string) { a.screen.Note(text) },
	}
	if a.cfg.MaxTime > 0 {
		in.Until = a.began.Add(a.cfg.MaxTime)
	}
	input, err := in.Read(ctx)
	if err != nil {
		return err
	}
	a.stdin = input.State
	a.desk.Agent.Spend(time.Since(a.began))
	r := &headless.Runner{Agent: a.desk, Format: headless.Format(a.cfg.Output), Out: os.Stdout, Screen: a.screen, Ask: a.ask, Info: a.info(), Stopped: a.broken}
	if r.Ask == nil && a.canAsk() {
		r.Ask = ui.AskOnTTY(a.screen)
	}
	var failure *agent.Failure
	a.response, failure = r.Run(ctx, input.Text)
	switch {
	case failure != nil:
		return failure
	case input.Late():
		return &agent.Failure{Kind: agent.KindUsage, What: "stdin", Err: errors.New("input came after the run had gone on without it"), Hint: "--stdin never, or a longer ARTOO_STDIN_WAIT"}
	}
	return nil
}

func (a *app) info() headless.Info {
	return headless.Info{SessionID: a.session, Provider: a.choice.Provider, Model: a.choice.Model, Sandbox: "none", Stdin: a.stdin, Began: a.began}
}

// broken is told that stdout or stderr cannot be written.
func (a *app) broken(err error) {
	if a.signals != nil {
		a.signals.Broken(err)
	}
}

// close waits for the last processes and gives the session back.
func (a *app) close() {
	a.desk.Agent.Close()
	var errs []error
	if s := a.desk.Agent.Conversation.Session(); s != nil {
		errs = append(errs, s.Close())
	}
	errs = append(errs, a.place.Close())
	if err := errors.Join(errs...); err != nil {
		a.warn(err.Error())
	}
}

// exit shows what went wrong, writes the result object of a JSON run, and is
// the exit code.
func (a *app) exit(err error) int {
	var status exitStatus
	if errors.As(err, &status) {
		return int(status)
	}
	failure, code := agent.Classify(err), 0
	if failure != nil {
		code = failure.Kind.ExitCode()
	}
	caught := a.signals != nil && a.signals.Caught() != nil
	if caught {
		code = a.signals.Code()
	}
	if failure != nil && !caught {
		a.show(failure)
	}
	if a.format() != headless.Text {
		if err := headless.WriteLine(os.Stdout, headless.NewResult(a.info(), a.response, failure, code)); err != nil && code == 0 {
			a.show(&agent.Failure{Kind: agent.KindInternal, What: "stdout", Err: err})
			code = 1
		}
	}
	if caught {
		a.signals.Die()
	}
	return code
}

// show prints a failure, also when there is no screen yet.
func (a *app) show(f *agent.Failure) {
	s := a.screen
	if s == nil {
		tty := term.IsTerminal(int(os.Stderr.Fd()))
		s = screen.New(screen.Options{Out: io.Discard, Err: os.Stderr, ErrTTY: tty, ErrColor: screen.ColorDecision("auto", os.Getenv, tty), UTF8: screen.UTF8Decision(os.Getenv)})
	}
	s.Failure(f)
}

// sessions is `artoo sessions`.
func (a *app) sessions(_ context.Context, inv cli.Invocation) ([]cli.Session, error) {
	if err := a.load(inv, false); err != nil {
		return nil, err
	}
	dir, err := a.cfg.Paths.Sessions()
	if err != nil {
		return nil, err
	}
	infos, err := conversation.Store{Dir: dir}.List()
	var rows []cli.Session
	for _, i := range infos {
		rows = append(rows, cli.Session{ID: i.ID, Path: i.Path, CWD: i.CWD, Started: i.Started, Updated: i.Updated, First: i.First, Messages: i.Messages, Provider: i.Provider, Model: i.Model, ForkOf: i.ForkOf})
	}
	return rows, err
}

// explain is `artoo rules explain`.
func (a *app) explain(_ context.Context, inv cli.Invocation, line string) (d agent.Decision, err error) {
	if err := a.load(inv, false); err != nil {
		return d, err
	}
	files, err := tool.OpenFiles(tool.FilesConfig{Root: a.project.Root})
	if err != nil {
		return d, err
	}
	defer files.Close()
	policy, err := a.policy(&tool.Env{Files: files})
	if err != nil {
		return d, err
	}
	d = policy.Decide("bash", tool.Access{Kind: tool.KindRun, Command: line, Dir: a.project.Root, Object: line})
	if d.Reason == "" {
		d.Reason = "mode " + a.cfg.Approval
	}
	return d, nil
}
