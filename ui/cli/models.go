package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/tool/spelling"
	"artoo/ui"
	"artoo/ui/sanitize"
)

// modelsCommand is `artoo models`.
type modelsCommand struct {
	app          *app
	json, update *bool
}

func newModels(l commandLine) *cobra.Command {
	c := l.command("models [provider] | --update [FILE|URL]",
		"list a provider's models, with windows and prices; --update fetches newer facts", common("provider", "models_url"))
	c.Args, c.ValidArgsFunction = l.words(0, 1, ""), l.offerKnown(1, "provider")
	m := modelsCommand{l.app, jsonFlag(c), c.Flags().Bool("update", false, "read newer facts from FILE or URL (default: models_url)")}
	c.RunE = func(c *cobra.Command, words []string) error { return m.run(c.Context(), first(words)) }
	return c
}

// run lists the models, with the catalogue for servers that cannot be asked.
func (c modelsCommand) run(ctx context.Context, word string) error {
	if err := c.app.load(false, false); err != nil {
		return err
	}
	if *c.update {
		return c.updateCatalog(ctx, word)
	}
	if err := c.app.models.transport(); err != nil {
		return err
	}
	names, ask, err := c.app.models.listed(word)
	if err != nil {
		return err
	}
	if !ask {
		c.app.models.noteUnlisted("no provider is set up")
	}
	lists := make([][]provider.ModelInfo, len(names))
	failed := make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		if !ask {
			break
		}
		asked.Go(func() { lists[i], failed[i] = c.app.models.askModels(ctx, name) })
	}
	asked.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var rows []listedModel
	for i, name := range names {
		known := modelsOf(c.app.models.catalog, c.app.cfg, name, lists[i])
		if failed[i] != nil {
			switch {
			case isProgram(name):
				c.app.screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo, Text: name +
					" lists no models; -m accepts any that the program accepts"})
			case len(names) == 1 && len(c.app.models.catalog.Models(name)) == 0 && len(c.app.cfg.Providers[name].Models) == 0:
				return failed[i]
			default:
				c.app.models.noteUnlisted(whyUnlisted(name, failed[i]))
			}
		}
		for _, m := range known {
			rows = append(rows, c.app.models.row(m, lists[i]))
		}
	}
	return printModels(c.app.process.Out, rows, c.app.began, *c.json)
}

// listed are the providers whose models are listed: the one that is named, else
// the one that the settings mean, else all at hand. With none there are all that
// the catalogue has, and no server is to be asked. The settings are made to
// belong to one provider at most: a key or an address must not reach another.
func (m *models) listed(name string) (names []string, ask bool, err error) {
	if name != "" {
		return []string{name}, true, m.tie(name)
	}
	if m.cfg.Provider != "" {
		return []string{m.cfg.Provider}, true, nil
	}
	if names, err = m.cfg.AtHand(); err != nil {
		return nil, false, err
	}
	choice, err := m.chooseOf(names)
	switch {
	case err == nil:
		m.cfg = m.cfg.With(choice)
		return []string{choice.Provider}, true, nil
	case len(names) > 0:
		m.cfg = m.cfg.With(config.Choice{Provider: nobody})
		return names, true, nil
	}
	for _, known := range provider.Names() {
		if len(m.catalog.Models(known)) > 0 {
			names = append(names, known)
		}
	}
	return names, false, nil
}

// nobody is a name that no provider can have.
const nobody = "(none)"

// tie says whose the settings are when a provider is named as an argument.
func (m *models) tie(name string) error {
	if !m.cfg.IsProvider(name) {
		all := m.cfg.ProviderNames()
		hint := "one of " + strings.Join(all, ", ")
		if near := spelling.Nearest(name, all); near != "" {
			hint = "artoo models " + near
		}
		return usage("models", "no such provider: "+name, hint)
	}
	switch {
	case m.cfg.Provider != "":
	case m.cfg.BaseURL != "":
		m.cfg = m.cfg.With(config.Choice{Provider: provider.Compatible, Model: m.cfg.Model})
	default:
		m.cfg = m.cfg.With(config.Choice{Provider: name})
	}
	return nil
}

// errNoList says that a provider has no list to be asked for.
var errNoList = errors.New("it has no list of models")

// askModels asks a provider's server for its models; nil where it has no list.
func (m *models) askModels(ctx context.Context, name string) ([]provider.ModelInfo, error) {
	switch f, _ := provider.FactsOf(name); {
	case f.Program != "":
		return nil, errNoList
	case f.Key == provider.KeyNever: // nor a server
		return nil, nil
	}
	wire, _, err := m.wire(config.Choice{Provider: name, Model: provider.DefaultModel(name)})
	if err != nil {
		return nil, err
	}
	lister, ok := wire.(provider.Lister)
	if !ok {
		return nil, errNoList
	}
	return lister.Models(ctx)
}

// noteUnlisted says why a list is the catalogue's.
func (m *models) noteUnlisted(why string) {
	m.screen.OnNotice(agent.Notice{Kind: agent.NoticeInfo,
		Text: why + "; showing the built-in catalogue: " + m.catalogue()})
}

func (m *models) catalogue() string {
	var names []string
	for _, s := range m.catalog.Sources() {
		names = append(names, s.Name+", "+s.Date)
	}
	return strings.Join(names, "; ")
}

// whyUnlisted is why a provider's models could not be asked for, in a line.
func whyUnlisted(name string, err error) string {
	why := err.Error()
	if e := provider.AsError(err); e != nil {
		why = e.Message
	} else if f := agent.Classify(err); f != nil && f.Err != nil {
		why = f.Err.Error()
	}
	why, _, _ = strings.Cut(why, "\n")
	return name + ": " + strings.TrimPrefix(strings.TrimRight(why, "."), name+": ")
}

// modelsOf are the models of a provider: those its server lists, or if served is
// nil the catalogue's, those the settings describe, and the default. The settings
// override all other facts about a model.
func modelsOf(catalog *provider.Catalog, cfg *config.Config, name string, served []provider.ModelInfo) []provider.ModelInfo {
	list := slices.Clone(served)
	if served == nil {
		list = catalog.Models(name)
	}
	add := func(id string) {
		if id != "" && !slices.ContainsFunc(list, func(m provider.ModelInfo) bool { return m.ID == id }) {
			info, _ := catalog.Lookup(name, id)
			list = append(list, info)
		}
	}
	own := cfg.Providers[name].Models
	for _, id := range slices.Sorted(maps.Keys(own)) {
		add(id)
	}
	add(presentModel(cfg, name))
	for i := range list {
		if m, ok := own[list[i].ID]; ok {
			list[i] = merge(list[i], m)
			list[i].Guess = false
		}
	}
	return list
}

// presentModel is the model that a provider's name alone means, or "".
func presentModel(cfg *config.Config, name string) string {
	if cfg.Provider == name && cfg.Model != "" {
		return cfg.Model
	}
	f, _ := provider.FactsOf(name)
	if f.Program != "" {
		return f.AnyModel
	}
	return f.DefaultModel
}

func (m *models) row(info provider.ModelInfo, served []provider.ModelInfo) listedModel {
	r := listedModel{ModelInfo: info, Default: info.ID == presentModel(m.cfg, info.Provider), Source: "config"}
	_, described := m.cfg.Providers[info.Provider].Models[info.ID]
	_, known := m.catalog.Lookup(info.Provider, info.ID)
	switch {
	case described:
	case slices.ContainsFunc(served, func(s provider.ModelInfo) bool { return s.ID == info.ID }):
		r.Source = "provider"
	case known:
		r.Source = "catalogue"
	}
	return r
}

// serve asks a provider for its models, and keeps its list.
func (m *models) serve(ctx context.Context, name string) error {
	served, err := m.askModels(ctx, name)
	if err == nil && served != nil {
		if m.served == nil {
			m.served = map[string][]provider.ModelInfo{}
		}
		m.served[name] = served
	}
	return err
}

// FindModel implements ui.Models.
func (m *models) FindModel(ctx context.Context, name string) (ui.FoundModel, error) {
	found, err := m.findModel(ctx, name)
	if err == nil {
		err = m.checkModel(config.Choice{Provider: found.Provider, Model: found.Model})
	}
	return found, err
}

func (m *models) findModel(ctx context.Context, name string) (ui.FoundModel, error) {
	choice := m.choiceOf(name)
	ids, _ := m.ids(choice.Provider)
	owner, slash := strings.CutSuffix(name, "/")
	if slash && !m.cfg.IsProvider(owner) {
		return ui.FoundModel{}, errors.New("there is no provider " + owner)
	}
	found := ui.FoundModel{Provider: choice.Provider, Model: choice.Model}
	if found.Known = m.cfg.IsProvider(owner) || m.catalog.Has(choice.Provider, choice.Model) ||
		slices.Contains(ids, choice.Model); found.Known {
		return found, nil
	}
	// A provider that cannot be asked leaves it to the catalogue; the switch itself says more.
	if err := m.serve(ctx, choice.Provider); err != nil && ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	ids, found.Listed = m.ids(choice.Provider)
	found.Known = slices.Contains(ids, choice.Model)
	if found.Nearest = spelling.Nearest(choice.Model, ids); found.Nearest == "" {
		part := func(id string) bool { return strings.Contains(strings.ToLower(id), strings.ToLower(choice.Model)) }
		if i := slices.IndexFunc(ids, part); i >= 0 && choice.Model != "" {
			found.Nearest = ids[i]
		}
	}
	return found, nil
}

// ids are the models known of a provider; all reports whether these are all that it has.
func (m *models) ids(name string) (ids []string, all bool) {
	served := m.served[name]
	for _, m := range modelsOf(m.catalog, m.cfg, name, served) {
		ids = append(ids, m.ID)
	}
	return ids, served != nil || len(m.catalog.Models(name)) > 0
}

// Models implements ui.Models. The facts of the model that answers are those that the agent counts by.
func (m *models) Models() []provider.ModelInfo {
	list := modelsOf(m.catalog, m.cfg, m.choice.Provider, m.served[m.choice.Provider])
	now := m.agent.Model()
	for i := range list {
		if list[i].ID == now.Defaults.Model {
			list[i] = now.Info
		}
	}
	return list
}

// AskModels implements ui.Models.
func (m *models) AskModels(ctx context.Context) ([]provider.ModelInfo, error) {
	name := m.choice.Provider
	err := m.serve(ctx, name)
	list := m.Models()
	if err != nil && len(list) > 0 {
		err = errors.New(whyUnlisted(name, err) + "; showing the built-in catalogue: " + m.catalogue())
	}
	return list, err
}

// listedModel is a line of `artoo models --json`.
type listedModel struct {
	provider.ModelInfo
	Default bool   `json:"default"` // it answers when only the provider is named
	Source  string `json:"source"`  // the source that names such a model: provider, catalogue, config
}

// printModels prints the list in columns, or as JSON. -m takes the first column.
func printModels(w io.Writer, list []listedModel, now time.Time, asJSON bool) error {
	if asJSON {
		return printEach(w, list, true, listedModel.About)
	}
	rows := [][]string{{"MODEL", "WINDOW", "REPLY", "$/M IN", "$/M OUT", "CACHED", "FROM", ""}}
	for _, m := range list {
		in, out, cached := "?", "?", "?"
		if p := m.Price; p != nil {
			in, out, cached = price(p.Input), price(p.Output), price(p.CacheRead)
			if p.CacheRead == 0 {
				cached = in
			}
		}
		remarks := m.Can()
		if m.Price != nil {
			for _, t := range m.Price.Tiers {
				remarks += fmt.Sprintf(", above %s $%s in, $%s out", provider.ShortCount(t.Above), price(t.Input), price(t.Output))
			}
		}
		if m.Default {
			remarks += ", default"
		}
		rows = append(rows, []string{
			sanitize.Text(m.Provider+"/"+m.ID, sanitize.Line), provider.ShortCount(m.Context),
			provider.ShortCount(m.MaxOutput), in, out, cached, m.from(now), strings.TrimPrefix(remarks, ", "),
		})
	}
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, r := range rows {
		line := ""
		for i, cell := range r {
			width := widths[i] // numbers stand at the right
			if i == 0 || i >= len(r)-2 {
				width = -width
			}
			line += fmt.Sprintf("%*s  ", width, cell)
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

// from says how old the facts are and whose, of window and price apart where they differ.
func (m listedModel) from(now time.Time) string {
	window, price := fromWhom(m.ContextFrom, now), fromWhom(m.PriceFrom, now)
	if price != "" && price != window {
		window = strings.TrimPrefix(window+", price "+price, ", ")
	}
	return sanitize.Text(window, sanitize.Line)
}

// fromWhom is a source in a word or two, with the age of a list in days.
func fromWhom(s provider.Source, now time.Time) string {
	age, dated := s.Age(now)
	if !dated {
		return s.Name
	}
	name, _, _ := strings.Cut(s.Name, " ")
	return fmt.Sprintf("%s %dd", name, int(age/(24*time.Hour)))
}

func price(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
