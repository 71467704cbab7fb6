package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/transport"
	"artoo/tool/web"
	"artoo/ui"
)

// found holds a run's findings about its providers.
type found struct {
	earlier  map[string]string               // model by provider, of those switched away from
	several  string                          // says which of a server's models was taken
	served   map[string][]provider.ModelInfo // the lists of servers, by provider
	closers  []func()                        // wait for the processes of providers
	oldPrice bool                            // the user was warned of a price that is old
}

// transport makes the HTTP client and the record of its traffic.
func (a *app) transport() error {
	a.log = &transport.Log{Text: a.screen.Note, Run: a.telemetry.Run()}
	a.log.SetOn(bool(a.cfg.Debug))
	if a.cfg.Log != "" {
		f, err := os.OpenFile(a.cfg.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fail(agent.KindConfig, a.cfg.Origin("log"), err, "a file that can be written")
		}
		a.log.JSON = f // open until the process ends, like every log
	}
	var err error
	options := transport.Options{CAFile: a.cfg.CAFile, Offline: bool(a.cfg.Offline), Log: a.log, Permit: a.cfg.Policy.CheckHost}
	if a.http, err = transport.New(options); err != nil {
		return err
	}
	unrecorded := options
	unrecorded.Log = nil
	if a.tokens, err = transport.New(unrecorded); err != nil {
		return err
	}
	a.telemetry.Use(a.tokens, a.warn)
	a.signers.Clear()
	base, err := transport.Plain(options)
	if err == nil {
		beside := base.Clone()
		beside.Proxy = nil
		a.beside = &http.Client{Transport: beside}
	}
	a.web = &web.Client{Base: base, Around: options.Around, UserAgent: "artoo/" + a.process.build().Version,
		Offline: bool(a.cfg.Offline)}
	return err
}

func (a *app) choose() error {
	if a.choice.Provider != "" {
		return nil
	}
	hand, err := a.cfg.AtHand()
	if err != nil {
		return err
	}
	a.choice, err = a.chooseOf(hand)
	if several, ok := errors.AsType[*config.SeveralProviders](err); ok && !a.streams.headless && a.streams.in {
		if hand, err = a.askProvider(several.Names); err == nil {
			a.choice, err = a.chooseOf(hand)
		}
	}
	if err != nil {
		return err
	}
	if a.cfg.Model == "" && a.found.several != "" {
		a.choice.Note = strings.TrimPrefix(a.choice.Note+", "+a.found.several, ", ")
	}
	if a.choice.Note != "" && a.streams.headless { // the banner tells it in a conversation
		a.screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: a.choice.Note})
	}
	a.cfg = a.cfg.With(a.choice)
	return nil
}

// chooseOf is the choice where these providers are at hand.
func (a *app) chooseOf(hand []string) (config.Choice, error) {
	return a.cfg.Choose(config.Conditions{AtHand: hand, DefaultModel: a.defaultModel, Catalog: a.catalog.ProviderFor, Probe: a.probe})
}

// askProvider asks once which provider to take, and writes it down.
func (a *app) askProvider(names []string) ([]string, error) {
	name, err := ui.Choose(context.Background(), a.process.In, a.screen,
		"Several providers are at hand. Which one shall artoo use from now on?", names)
	if err != nil {
		return nil, config.NewSeveralProviders(names)
	}
	path, err := a.configFile()
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

// How long a server that may be away is looked for, on this machine and elsewhere.
const (
	probeLocal  = 200 * time.Millisecond
	probeRemote = 2 * time.Second
)

func (a *app) probe() string {
	for _, f := range provider.Known() {
		if f.Local != nil && a.answers(f.Name) {
			return f.Name
		}
	}
	return ""
}

func (a *app) answers(name string) bool {
	p, _, err := a.wire(config.Choice{Provider: name})
	if err != nil {
		return false
	}
	limit := probeRemote
	if a.isLocal(name) {
		limit = probeLocal
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	server, ok := p.(provider.LocalHost)
	if !ok {
		return false
	}
	_, err = server.Version(ctx)
	return err == nil
}

// defaultModel is the provider's, or that of its server or program.
func (a *app) defaultModel(name string) string {
	f, _ := provider.FactsOf(name)
	if f.Local != nil {
		return a.pulledModel(name)
	}
	return cmp.Or(f.DefaultModel, f.AnyModel)
}

// pulledModel is the last model put on a local server that can call tools, or "".
func (a *app) pulledModel(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), probeRemote)
	defer cancel()
	models, err := a.askModels(ctx, name)
	if err != nil || len(models) == 0 {
		return ""
	}
	first := max(0, slices.IndexFunc(models, func(m provider.ModelInfo) bool { return m.Tools }))
	if len(models) > 1 {
		a.found.several = fmt.Sprintf("model %s of the %d it has: -m %s/NAME takes another", models[first].ID, len(models), name)
	}
	return models[first].ID
}

// SwitchModel implements ui.Program.
func (a *app) SwitchModel(name string) error {
	choice := a.choiceOf(name)
	model, err := a.model(choice)
	if err != nil {
		return err
	}
	model.Defaults.Effort = a.agent.Model().Defaults.Effort
	a.agent.SwitchModel(model)
	a.answered(a.choice)
	a.choice = choice
	return nil
}

// answered keeps the model of a provider, for the way back to it.
func (a *app) answered(c config.Choice) {
	if a.found.earlier == nil {
		a.found.earlier = map[string]string{}
	}
	a.found.earlier[c.Provider] = c.Model
}

// usual is the model that a switch to the provider means: its default, or for a
// server of one's own, which has none worth the name, the one before.
func (a *app) usual(name string) string {
	if provider.DefaultModel(name) == "" {
		if model := a.found.earlier[name]; model != "" {
			return model
		}
	}
	return a.defaultModel(name)
}

// usualOf is the meaning of a provider's name alone.
func (a *app) usualOf(name string) (config.Choice, error) {
	model := a.usual(name)
	if model == "" {
		return config.Choice{}, errors.New(name + " has no default model; /model " + name + "/NAME names one")
	}
	return config.Choice{Provider: name, Model: model}, nil
}

// Providers implements ui.Program.
func (a *app) Providers() ([]config.Choice, error) {
	names, err := a.cfg.AtHand()
	if !slices.Contains(names, a.choice.Provider) {
		names = append(names, a.choice.Provider)
	}
	if server := a.probe(); server != "" && !slices.Contains(names, server) {
		names = append(names, server)
	}
	a.answered(a.choice)
	var list []config.Choice
	for _, name := range names {
		list = append(list, config.Choice{Provider: name, Model: a.usual(name)})
	}
	return list, err
}

// model makes the provider that answers for a model, with the model's facts.
func (a *app) model(choice config.Choice) (agent.Model, error) {
	if caps := a.effectCaps(); caps.Any() && isProgram(choice.Provider) {
		return agent.Model{}, usage(caps.String(), choice.Provider+" runs tools of its own, which no cap on effects binds", "a model that is asked directly")
	}
	if err := a.checkModel(choice); err != nil {
		return agent.Model{}, err
	}
	wire, keys, err := a.wire(choice)
	if err != nil {
		return agent.Model{}, err
	}
	info, known := a.catalog.Lookup(choice.Provider, choice.Model)
	var temperature *float64
	if a.cfg.IsSet("temperature") {
		temperature = (*float64)(&a.cfg.Temperature)
	}
	m := agent.Model{
		Provider: &provider.Retrier{
			Provider: wire, MaxTime: cmp.Or(time.Duration(a.cfg.MaxRetryTime), -1), NewKey: keys.Renew,
		},
		Name: choice.Provider,
		Defaults: provider.Options{
			Model: choice.Model, MaxTokens: int(a.cfg.MaxTokens), Temperature: temperature,
			Effort: provider.Effort(a.cfg.Effort),
		},
		Other: func(model string) provider.ModelInfo {
			other, _ := a.catalog.Lookup(choice.Provider, model)
			return merge(other, a.cfg.Providers[choice.Provider].Models[model])
		},
		Rules: func(mode string) string { return cli.Rules(choice.Provider, mode, a.repoSettings.trusted()) },
	}
	if d, ok := wire.(provider.Describer); ok && a.mustAsk(choice, info, known) {
		m.Describe = a.describer(d, choice)
	}
	if w, ok := wire.(provider.Waiter); ok {
		m.Wait = w.Wait
	}
	m.Info = merge(info, a.cfg.Providers[choice.Provider].Models[choice.Model])
	a.warnOfOldPrice(m.Info)
	return m, nil
}

// checkModel is an error if the policy of the machine forbids a model.
func (a *app) checkModel(choice config.Choice) error {
	if a.free { // artoo demo asks no server
		return nil
	}
	return a.cfg.Policy.CheckModel(choice.Provider, choice.Model, isProgram(choice.Provider))
}

// oldPrice is the age from which on a cap on money is not to be trusted.
const oldPrice = 60 * 24 * time.Hour

// warnOfOldPrice warns once in a run that money is capped by an old price.
func (a *app) warnOfOldPrice(m provider.ModelInfo) {
	age, dated := m.PriceFrom.Age(a.began)
	if a.cfg.MaxCost == 0 && a.cfg.DailyCost == 0 || !dated || age <= oldPrice || a.found.oldPrice {
		return
	}
	a.found.oldPrice = true
	a.warn(fmt.Sprintf("the price of %s is %d days old, and the cap on money counts by it; artoo models --update takes newer ones",
		m.ID, int(age/(24*time.Hour))))
}

// mustAsk reports whether the server has to be asked for a model's abilities. Only a server of the user's own
// knows the window it was started with, and a cap on money needs a price if neither settings nor catalogue have it.
func (a *app) mustAsk(choice config.Choice, info provider.ModelInfo, known bool) bool {
	own := a.cfg.Providers[choice.Provider].Models[choice.Model]
	return isLocalServer(choice.Provider) || own.Context == 0 && (!known || a.isLocal(choice.Provider)) ||
		(a.cfg.MaxCost > 0 || a.cfg.DailyCost > 0) && own.Price == nil && info.Price == nil
}

// isLocalServer reports whether the provider serves the user's own models.
func isLocalServer(name string) bool {
	f, _ := provider.FactsOf(name)
	return f.Local != nil
}

func isProgram(name string) bool {
	f, _ := provider.FactsOf(name)
	return f.Program != ""
}

func (a *app) describer(d provider.Describer, choice config.Choice) func(context.Context) (provider.ModelInfo, error) {
	return func(ctx context.Context) (provider.ModelInfo, error) {
		said, err := d.Describe(ctx, choice.Model)
		info := merge(said, a.cfg.Providers[choice.Provider].Models[choice.Model])
		if isLocalServer(choice.Provider) { // the server was already asked for the user's window
			info.Context = said.Context
		}
		return info, err
	}
}

func merge(info provider.ModelInfo, m config.Model) provider.ModelInfo {
	said := provider.Source{Name: provider.FromConfig}
	if m.Context > 0 {
		info.Context, info.ContextFrom = m.Context, said
	}
	info.MaxOutput = cmp.Or(m.MaxOutput, info.MaxOutput)
	for can, own := range map[*bool]*bool{&info.Images: m.Images, &info.Reasoning: m.Reasoning, &info.Patches: m.Patches} {
		if own != nil {
			*can = *own
		}
	}
	if m.Price != nil {
		if info.Price = priced(info.Price, *m.Price); info.Price != nil {
			info.PriceFrom = said
		}
	}
	return info
}

// priced completes a price that the user gives in parts with the known one; it is nil
// without input and output. A user's price of input replaces the known prices of the
// cache and of longer prompts too, which belong to another price of input.
func priced(known *provider.Price, said config.Price) *provider.Price {
	if known == nil && (said.Input == nil || said.Output == nil) {
		return nil
	}
	var price provider.Price
	if known != nil {
		price = *known
	}
	if said.Input != nil {
		price.CacheRead, price.CacheWrite, price.Tiers = 0, 0, nil
	}
	for part, own := range map[*float64]*float64{
		&price.Input: said.Input, &price.Output: said.Output,
		&price.CacheRead: said.CacheRead, &price.CacheWrite: said.CacheWrite,
	} {
		if own != nil {
			*part = *own
		}
	}
	return &price
}
