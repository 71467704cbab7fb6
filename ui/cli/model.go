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
	"sync"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/demo"
	"artoo/provider/transport"
	"artoo/tool/web"
	"artoo/ui"
)

// models are the models of all providers, and the way to their servers.
type models struct {
	*session
	extensions *extensions
	catalog    *provider.Catalog // nil for the models that are built in
	log        *transport.Log
	http       *http.Client
	tokens     *http.Client // asks servers that give credentials, and collectors, and records nothing
	beside     *http.Client // the same, of those beside this machine: never through a proxy
	signers    sync.Map     // holds *cloud.Transport by provider.Auth
	free       bool         // it costs nothing: nothing is counted

	earlier  map[string]string               // model by provider, of those switched away from
	several  string                          // says which of a server's models was taken
	served   map[string][]provider.ModelInfo // the lists of servers, by provider
	oldPrice bool                            // the user was warned of a price that is old

	// scripted answers in place of the chosen provider, in tests; else nil.
	scripted provider.Provider
}

// transport makes the HTTP client and the record of its traffic.
func (m *models) transport() error {
	m.log = &transport.Log{Text: m.screen.Note, Keys: m.cfg.SeenKeys, Run: m.telemetry.Run()}
	m.log.SetOn(bool(m.cfg.Debug))
	if m.cfg.Log != "" {
		f, err := os.OpenFile(m.abs(m.cfg.Log), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fail(agent.KindConfig, m.cfg.Origin("log"), err, "a file that can be written")
		}
		m.log.JSON = f
		m.ends = append(m.ends, func() { _ = f.Close() }) // each line was written whole, or its error shown
	}
	var err error
	options := transport.Options{Environ: m.process.Environ, Offline: bool(m.cfg.Offline), Log: m.log, Permit: m.cfg.Policy.CheckHost}
	if m.cfg.CAFile != "" {
		options.CAFile = m.abs(m.cfg.CAFile)
	}
	if m.http, err = transport.New(options); err != nil {
		return err
	}
	unrecorded := options
	unrecorded.Log = nil
	if m.tokens, err = transport.New(unrecorded); err != nil {
		return err
	}
	m.telemetry.Use(m.tokens, m.warn)
	m.signers.Clear()
	base, err := transport.Plain(options)
	if err == nil {
		beside := base.Clone()
		beside.Proxy = nil
		m.beside = &http.Client{Transport: beside}
	}
	m.web = &web.Client{Base: base, Around: options.Around, UserAgent: "artoo/" + m.process.build().Version,
		Offline: bool(m.cfg.Offline)}
	return err
}

func (m *models) choose() error {
	if m.choice.Model != "" {
		return nil
	}
	hand, err := m.cfg.AtHand()
	if err != nil {
		return err
	}
	m.choice, err = m.chooseOf(hand)
	if several, ok := errors.AsType[*config.SeveralProviders](err); ok && !m.streams.headless && m.streams.in {
		if hand, err = m.askProvider(several.Names); err == nil {
			m.choice, err = m.chooseOf(hand)
		}
	}
	if err != nil {
		return err
	}
	if m.several != "" {
		m.choice.Note = strings.TrimPrefix(m.choice.Note+", "+m.several, ", ")
	}
	if m.choice.Note != "" && m.streams.headless { // the banner tells it in a conversation
		m.screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: m.choice.Note})
	}
	m.cfg = m.cfg.With(m.choice)
	return nil
}

// chooseOf is the choice where these providers are at hand.
func (m *models) chooseOf(hand []string) (config.Choice, error) {
	choice, err := m.cfg.Choose(config.Conditions{AtHand: hand, Meant: m.meant,
		Catalog: m.catalog.ProviderFor, Probe: m.probe})
	if f, _ := provider.FactsOf(choice.Provider); err != nil && f.Local != nil {
		ctx, cancel := context.WithTimeout(context.Background(), probeRemote)
		defer cancel()
		if _, err = m.askModels(ctx, f.Name); err == nil {
			err = fail(agent.KindUsage, f.Name, errors.New("the server has no models"), f.Local.Fetch+" MODEL")
		}
	}
	return choice, err
}

// askProvider asks once which provider to take, and writes it down.
func (m *models) askProvider(names []string) ([]string, error) {
	name, err := ui.Choose(context.Background(), m.process.In, m.screen,
		"Several providers are set up. Which one should artoo use from now on?", names)
	if err != nil {
		return nil, config.NewSeveralProviders(names)
	}
	path, err := m.configFile()
	if err == nil {
		err = config.SetProvider(path, name)
	}
	if err != nil {
		m.warn("the choice applies to this run only: " + err.Error())
	} else {
		m.screen.Note("written to " + path)
	}
	return []string{name}, nil
}

// How long a server that may be away is looked for, on this machine and elsewhere.
const (
	probeLocal  = 200 * time.Millisecond
	probeRemote = 2 * time.Second
)

func (m *models) probe() string {
	for _, f := range provider.Known() {
		if f.Local != nil && m.answers(f.Name) {
			return f.Name
		}
	}
	return ""
}

func (m *models) answers(name string) bool {
	p, _, err := m.wire(config.Choice{Provider: name})
	if err != nil {
		return false
	}
	limit := probeRemote
	if m.isLocal(name) {
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
func (m *models) defaultModel(name string) string {
	f, _ := provider.FactsOf(name)
	if f.Local != nil {
		return m.pulledModel(name)
	}
	return cmp.Or(f.DefaultModel, f.AnyModel)
}

// pulledModel is the last model put on a local server that can call tools, or "".
func (m *models) pulledModel(name string) string {
	ctx, cancel := context.WithTimeout(context.Background(), probeRemote)
	defer cancel()
	models, err := m.askModels(ctx, name)
	if err != nil || len(models) == 0 {
		return ""
	}
	first := max(0, slices.IndexFunc(models, func(m provider.ModelInfo) bool { return m.Tools }))
	if len(models) > 1 {
		m.several = fmt.Sprintf("using model %s of %d; -m %s/NAME chooses another", models[first].ID, len(models), name)
	}
	return models[first].ID
}

// SwitchModel implements ui.Models.
func (m *models) SwitchModel(name string) error {
	choice := m.choiceOf(name)
	model, err := m.model(choice)
	if err != nil {
		return err
	}
	model.Defaults.Effort = m.agent.Model().Defaults.Effort
	m.agent.SwitchModel(model)
	m.answered(m.choice)
	m.choice = choice
	return nil
}

// answered keeps the model of a provider, for the way back to it.
func (m *models) answered(c config.Choice) {
	if m.earlier == nil {
		m.earlier = map[string]string{}
	}
	m.earlier[c.Provider] = c.Model
}

// meant is the model of a provider that a name means: a short word such as sonnet the newest, none the usual.
func (m *models) meant(name, model string) string {
	if model == "" {
		return m.usual(name)
	}
	return cmp.Or(m.catalog.Newest(name, model), model)
}

// usual is the model that a switch to the provider means: its default, or for a
// server of one's own, which has none worth the name, the one before.
func (m *models) usual(name string) string {
	if model := m.earlier[name]; model != "" && provider.DefaultModel(name) == "" {
		return model
	}
	return m.defaultModel(name)
}

// Providers implements ui.Models.
func (m *models) Providers() ([]config.Choice, error) {
	names, err := m.cfg.AtHand()
	if !slices.Contains(names, m.choice.Provider) {
		names = append(names, m.choice.Provider)
	}
	if server := m.probe(); server != "" && !slices.Contains(names, server) {
		names = append(names, server)
	}
	m.answered(m.choice)
	var list []config.Choice
	for _, name := range names {
		list = append(list, config.Choice{Provider: name, Model: m.usual(name)})
	}
	return list, err
}

// model makes the provider that answers for a model, with the model's facts.
func (m *models) model(choice config.Choice) (agent.Model, error) {
	if caps := m.effectCaps(); caps.Any() && isProgram(choice.Provider) {
		return agent.Model{}, usage(caps.String(), choice.Provider+" runs its own tools, which no cap can limit", "a model that artoo calls itself")
	}
	if err := m.checkModel(choice); err != nil {
		return agent.Model{}, err
	}
	wire, keys, err := m.wire(choice)
	if err != nil {
		return agent.Model{}, err
	}
	info, known := m.catalog.Lookup(choice.Provider, choice.Model)
	var temperature *float64
	if m.cfg.IsSet("temperature") {
		temperature = (*float64)(&m.cfg.Temperature)
	}
	model := agent.Model{
		Provider: &provider.Retrier{
			Provider: wire, MaxTime: cmp.Or(time.Duration(m.cfg.MaxRetryTime), -1), NewKey: keys.Renew,
		},
		Name: choice.Provider,
		Defaults: provider.Options{
			Model: choice.Model, MaxTokens: int(m.cfg.MaxTokens), Temperature: temperature,
			Effort: provider.Effort(m.cfg.Effort),
		},
		Other: func(id string) provider.ModelInfo {
			other, _ := m.catalog.Lookup(choice.Provider, id)
			return merge(other, m.cfg.Providers[choice.Provider].Models[id])
		},
		Rules: func(mode string) string { return cli.Rules(choice.Provider, mode, m.extensions.repoSettings.trusted()) },
	}
	if d, ok := wire.(provider.Describer); ok && m.mustAsk(choice, info, known) {
		model.Describe = m.describer(d, choice)
	}
	if w, ok := wire.(provider.Waiter); ok {
		model.Wait = w.Wait
	}
	model.Info = merge(info, m.cfg.Providers[choice.Provider].Models[choice.Model])
	m.warnOfOldPrice(model.Info)
	return model, nil
}

// checkModel is an error if a provider's name alone means no model, or the policy of the machine forbids it.
func (m *models) checkModel(choice config.Choice) error {
	switch {
	case m.free: // artoo demo asks no server
		return nil
	case choice.Model == "":
		return errors.New(choice.Provider + " has no default model; " + choice.Provider + "/NAME names one")
	}
	return m.cfg.Policy.CheckModel(choice.Provider, choice.Model, isProgram(choice.Provider))
}

// oldPrice is the age from which on a cap on money is not to be trusted.
const oldPrice = 60 * 24 * time.Hour

// warnOfOldPrice warns once in a run that money is capped by an old price.
func (m *models) warnOfOldPrice(info provider.ModelInfo) {
	age, dated := info.PriceFrom.Age(m.began)
	if m.cfg.MaxCost == 0 && m.cfg.DailyCost == 0 || !dated || age <= oldPrice || m.oldPrice {
		return
	}
	m.oldPrice = true
	m.warn(fmt.Sprintf("the price of %s is %d days old, and the cap on money relies on it; artoo models --update gets newer ones",
		info.ID, int(age/(24*time.Hour))))
}

// mustAsk reports whether the server has to be asked for a model's abilities. Only a server of the user's own
// knows the window it was started with, and a cap on money needs a price if neither settings nor catalogue have it.
func (m *models) mustAsk(choice config.Choice, info provider.ModelInfo, known bool) bool {
	own := m.cfg.Providers[choice.Provider].Models[choice.Model]
	return isLocalServer(choice.Provider) || own.Context == 0 && (!known || m.isLocal(choice.Provider)) ||
		(m.cfg.MaxCost > 0 || m.cfg.DailyCost > 0) && own.Price == nil && info.Price == nil
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

func (m *models) describer(d provider.Describer, choice config.Choice) func(context.Context) (provider.ModelInfo, error) {
	return func(ctx context.Context) (provider.ModelInfo, error) {
		said, err := d.Describe(ctx, choice.Model)
		info := merge(said, m.cfg.Providers[choice.Provider].Models[choice.Model])
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

// choiceOf is the model that a name means beside the present one: as in -m, a bare one is the present provider's.
func (m *models) choiceOf(name string) config.Choice {
	choice, named := m.cfg.Named(name)
	if !named {
		choice = config.Choice{Provider: m.choice.Provider, Model: name}
	}
	choice.Model = m.meant(choice.Provider, choice.Model)
	return choice
}

// goOnWith lets the provider and model of a session answer in it again, unless a
// flag says otherwise: a session with a coding CLI must not go over to an API
// that is paid for. An address or key of the settings is not given to another
// provider than they mean.
func (m *models) goOnWith(s *conversation.Session) {
	last := lastChoice(s)
	if m.choice.Provider != "" || m.cfg.FromFlag("provider") ||
		last.Provider == demo.Name || !m.cfg.IsProvider(last.Provider) {
		return
	}
	if m.cfg.FromFlag("model") {
		if _, named := m.cfg.Named(m.cfg.Model); named || !isProgram(last.Provider) {
			return
		}
		last.Model = m.cfg.Model
	}
	tied := m.cfg.BaseURL != "" || !m.cfg.APIKey.IsZero() || m.cfg.APIKeyFile != ""
	if tied && !isProgram(last.Provider) && m.cfg.Provider != last.Provider {
		return
	}
	m.cfg = m.cfg.With(last)
}

// lastChoice is the last model of a session; for a fallback, the model it replaced. No model is requested of a coding CLI that chose its own.
func lastChoice(s *conversation.Session) config.Choice {
	head := s.Header()
	last := config.Choice{Provider: head.Provider, Model: head.Model}
	for _, m := range slices.Backward(s.Messages()) {
		if m.Provider == "" || m.Model == "" {
			continue
		}
		if name, model, ok := strings.Cut(m.InsteadOf, "/"); ok {
			return config.Choice{Provider: name, Model: model}
		}
		switch f, _ := provider.FactsOf(m.Provider); {
		case f.Program == "":
			return config.Choice{Provider: m.Provider, Model: m.Model}
		case m.Provider != head.Provider:
			return config.Choice{Provider: m.Provider, Model: f.AnyModel}
		}
		return last
	}
	return last
}
