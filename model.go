package main

// Which model answers, and the provider that speaks to it.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/coding"
	"artoo/provider/demo"
	"artoo/provider/openai"
	"artoo/provider/transport"
	"artoo/ui"
)

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
	situation := config.Situation{AtHand: hand, DefaultModel: defaultModel, Catalog: provider.ProviderFor}
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

// defaultModel is the provider's; servers with one model of their own mostly
// take any name, and coding CLIs have a default of their own.
func defaultModel(name string) string {
	if model := provider.DefaultModel(name); model != "" || name != "compatible" && !coding.Is(name) {
		return model
	}
	return coding.DefaultModel
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

// switchProvider makes another provider's default model answer.
func (a *app) switchProvider(ctx context.Context, name string) (string, error) {
	if !a.provides(name) {
		return "", errors.New("there is no provider " + name)
	}
	model := defaultModel(name)
	if model == "" {
		return "", errors.New(name + " has no default model; /model " + name + "/NAME names one")
	}
	return a.switchModel(ctx, name+"/"+model)
}

// providers are those whose key or server is at hand, and the present one.
func (a *app) providers() ([]ui.Choice, error) {
	names, err := a.cfg.AtHand()
	if !slices.Contains(names, a.choice.Provider) {
		names = append(names, a.choice.Provider)
	}
	var list []ui.Choice
	for _, name := range names {
		list = append(list, ui.Choice{Name: name, About: defaultModel(name)})
	}
	return list, err
}

// models are those known of the present provider: the catalogue's and the
// user's own.
func (a *app) models() []ui.Choice {
	var list []ui.Choice
	for _, m := range provider.Models(a.choice.Provider) {
		list = append(list, ui.Choice{Name: m.ID, About: fmt.Sprintf("%s, window %dk", m.Name, m.Context/1000)})
	}
	table := a.cfg.Providers[a.choice.Provider]
	for _, name := range slices.Sorted(maps.Keys(table.Models)) {
		if !slices.ContainsFunc(list, func(c ui.Choice) bool { return c.Name == name }) {
			list = append(list, ui.Choice{Name: name, About: "from " + table.Origin})
		}
	}
	return list
}

// effort sets the reasoning effort, also for models that are switched to later.
func (a *app) effort(set *provider.Effort) provider.Effort {
	if set != nil {
		a.cfg.Effort = string(*set)
		a.desk.Agent.Defaults.Effort = *set
	}
	return a.desk.Agent.Defaults.Effort
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
	info, _ := provider.Lookup(choice.Provider, choice.Model)
	info.Billed = choice.Provider == coding.ClaudeName // it tells what each run cost
	if m, ok := a.cfg.Providers[choice.Provider].Models[choice.Model]; ok {
		info = merge(info, m)
	}
	ag := a.desk.Agent
	ag.Provider = &provider.Retrier{Provider: wire, MaxTime: retryTime(a.cfg.MaxRetryTime)}
	ag.ProviderName, ag.Info = choice.Provider, info
	ag.Defaults = provider.Options{Model: choice.Model, MaxTokens: min(a.cfg.MaxTokens, info.Context/4), Temperature: a.cfg.Temperature, Effort: provider.Effort(a.cfg.Effort)}
	if info.MaxOutput > 0 {
		ag.Defaults.MaxTokens = min(ag.Defaults.MaxTokens, info.MaxOutput)
	}
	return nil
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
	address, _, err := a.cfg.Endpoint(name)
	if err != nil {
		return nil, err
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
	switch name {
	case demo.Name:
		return &demo.Provider{Pace: a.pace()}, nil
	case "anthropic":
		return &anthropic.Provider{Name: name, BaseURL: address, Key: a.cfg.KeyFunc(name), HTTP: a.http, Headers: headers, Idle: idle, RequestTimeout: a.cfg.RequestTimeout, Local: local}, nil
	case coding.ClaudeName, coding.CodexName, coding.GeminiName:
		return a.codingCLI(name)
	case "gemini", "ollama":
		hint := "--provider with one of anthropic, openai, openrouter, deepseek, compatible"
		if name == "ollama" {
			hint = "its other face: ARTOO_BASE_URL=http://localhost:11434/v1 artoo -m " + choice.Model
		}
		return nil, &agent.Failure{Kind: agent.KindUsage, What: "provider " + name, Err: errors.New("comes with a later version"), Hint: hint}
	}
	if name == "openai" && openai.SpeaksResponses(address) {
		return &openai.Responses{Name: name, BaseURL: address, Key: a.cfg.KeyFunc(name), HTTP: a.http, Headers: headers, Idle: idle, RequestTimeout: a.cfg.RequestTimeout, Local: local}, nil
	}
	return &openai.Chat{Name: name, BaseURL: address, Key: a.cfg.KeyFunc(name), HTTP: a.http, Headers: headers, Idle: idle, RequestTimeout: a.cfg.RequestTimeout, Local: local, Quirks: openai.QuirksFor(name)}, nil
}

// codingCLI makes the provider that runs an installed coding CLI.
func (a *app) codingCLI(name string) (provider.Provider, error) {
	if a.cfg.Offline {
		return nil, &agent.Failure{Kind: agent.KindConfig, What: name, Err: errors.New("it connects to its vendor, and " + a.cfg.Origin("offline") + " forbids that"), Hint: "a local server, with ARTOO_BASE_URL"}
	}
	c := &coding.CLI{
		Name: name, Dir: a.project.Root, Mode: func() string { return string(a.desk.Agent.Policy.Mode) }, Limit: a.cfg.RequestTimeout, Trace: a.log.Record,
		Instructions: strings.TrimSpace(a.cfg.System + "\n\n" + a.cfg.AppendSystem),
		Announce:     a.who.headless || a.place != nil, // else the banner tells
	}
	if a.cfg.IsSet("idle_timeout") {
		if c.Idle = a.cfg.IdleTimeout; c.Idle == 0 {
			c.Idle = -1
		}
	}
	c.Environ, c.Withheld = coding.Environ(name, a.desk.Agent.Env.Environ, os.Environ(), a.cfg.PassEnv)
	if err := c.Check(); err != nil {
		return nil, err
	}
	a.closers = append(a.closers, c.Close)
	return c, nil
}

// pace lets a person watch the demo.
func (a *app) pace() func(context.Context, time.Duration) {
	if a.who.headless || a.cfg.Interactive {
		return nil
	}
	return demo.Wait
}
