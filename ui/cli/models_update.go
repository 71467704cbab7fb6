package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/modelsdev"
	"artoo/tool/atomicfile"
	"artoo/tool/text"
	"artoo/ui/sanitize"
)

const (
	maxFacts     = 32 << 20 // bytes of a list of models, and of its kept part
	fetchTimeout = time.Minute
)

// publicFacts is a list of models that its maintainers publish. artoo only names it.
const publicFacts = "https://models.dev/api.json"

// catalogFile is where facts are kept that the user installed.
func (m *models) catalogFile() (string, error) {
	dir, err := m.cfg.Paths.CacheDir()
	return filepath.Join(dir, "models.tsv"), err
}

// openCatalog takes the facts that the user installed. Those with a fault in them
// are left out with a warning: the built-in ones serve.
func (m *models) openCatalog() {
	path, err := m.catalogFile()
	if err != nil {
		return // nowhere to have kept any
	}
	text, err := m.readCapped(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		m.catalog, err = provider.OpenCatalog(string(text))
	}
	if err != nil {
		m.warn("facts about models in " + path + " are not used: " + err.Error() +
			"; artoo models --update writes them again")
	}
}

func (m *models) readCapped(path string) ([]byte, error) {
	f, err := m.openFile(path)
	if err != nil {
		return nil, err
	}
	data, err := capped(f)
	return data, errors.Join(err, f.Close())
}

func capped(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxFacts+1))
	if err == nil && len(data) > maxFacts {
		err = fmt.Errorf("more than %d MiB", maxFacts>>20)
	}
	return data, err
}

// updateCatalog is `artoo models --update`.
func (c modelsCommand) updateCatalog(ctx context.Context, where string) error {
	where = cmp.Or(where, c.app.cfg.ModelsURL)
	if where == "" {
		return usage("models --update", "no FILE or URL given, and models_url is not set",
			"artoo models --update "+publicFacts+", or set models_url under [provider] in config.toml")
	}
	bad := func(err error) error {
		return fail(agent.KindConfig, where, err, "a list in the form of "+publicFacts+"; nothing was changed")
	}
	data, from, err := c.app.models.fetchFacts(ctx, where)
	if err != nil {
		return err
	}
	models, err := modelsdev.Read(data, from)
	if err != nil {
		return bad(err)
	}
	text, err := provider.EncodeCatalog(models)
	if err != nil {
		return bad(err)
	}
	newer, err := provider.OpenCatalog(text)
	switch {
	case err != nil:
		return bad(err)
	case newer == nil:
		return bad(fmt.Errorf("it is from %s, and the built-in facts are from %s", from.Date,
			(*provider.Catalog)(nil).Sources()[0].Date))
	}
	path, err := c.app.models.catalogFile()
	if err == nil {
		err = atomicfile.Write(path, []byte(text), 0o600)
	}
	if err != nil {
		return fail(agent.KindInternal, "models --update", err, "a cache directory that can be written, by XDG_CACHE_HOME")
	}
	return printOne(c.app.process.Out, compareCatalogs(c.app.models.catalog, newer, models, from), *c.json, catalogChange.text)
}

// fetchFacts reads a list, and says where and of which day it is: the day of asking for
// an address, that of the last change for a file.
func (m *models) fetchFacts(ctx context.Context, where string) (data []byte, from provider.Source, err error) {
	u, err := url.Parse(where)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		from = provider.Source{Name: sourceName(u.Host), Date: m.began.Format(time.DateOnly)}
		data, err = m.fetch(ctx, u)
		return data, from, err
	}
	info, err := os.Stat(m.abs(where))
	if err == nil {
		data, err = m.readCapped(where)
	}
	if err != nil {
		return nil, from, fail(agent.KindConfig, "models --update", err, "a file that can be read, or an address")
	}
	day := info.ModTime()
	if day.After(m.began) {
		day = m.began
	}
	return data, provider.Source{Name: sourceName(filepath.Base(where)), Date: day.Format(time.DateOnly)}, nil
}

// sourceName is a name that stands in a line of a table.
func sourceName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, name[:min(len(name), 100)])
}

// fetch gets a list from an address. It goes the way that requests to providers go:
// by the proxy, with the CA file, and not at all where ARTOO_OFFLINE forbids it.
func (m *models) fetch(ctx context.Context, u *url.URL) ([]byte, error) {
	failed := func(kind agent.Kind, err error) error {
		return fail(kind, u.Redacted(), err, "artoo models --update FILE, with a list that was fetched elsewhere; nothing was changed")
	}
	if err := m.transport(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, failed(agent.KindConfig, err)
	}
	request.Header.Set("User-Agent", "artoo/"+m.process.build().Version)
	client := *m.http
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		switch {
		case len(via) >= 5:
			return errors.New("redirected too often")
		case via[0].URL.Scheme == "https" && next.URL.Scheme != "https":
			return errors.New("redirected to an address without TLS")
		}
		return nil
	}
	response, err := client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // the address stands before it already
			err = wrapped.Err
		}
		if f := agent.Classify(err); f != nil && f.Kind == agent.KindConfig {
			return nil, f
		}
		return nil, failed(agent.KindNetwork, err)
	}
	data, err := capped(response.Body)
	err = errors.Join(err, response.Body.Close())
	switch {
	case response.StatusCode != http.StatusOK:
		return nil, failed(agent.KindProvider, errors.New("the server answered "+response.Status))
	case err != nil:
		return nil, failed(agent.KindNetwork, err)
	}
	return data, nil
}

// catalogChange is the result of an update. `artoo models --update --json` prints
// its JSON.
type catalogChange struct {
	provider.Source
	Models int           `json:"models"`
	Added  []string      `json:"added"`
	Prices []priceChange `json:"prices"` // those that changed
}

type priceChange struct {
	Model string          `json:"model"`
	Old   *provider.Price `json:"old"` // nil where it was not known
	New   *provider.Price `json:"new"`
}

// compareCatalogs finds the models and prices of newer, the catalogue of models, that differ from old.
func compareCatalogs(old, newer *provider.Catalog, models []provider.ModelInfo, from provider.Source) catalogChange {
	c := catalogChange{Source: from, Models: len(models), Added: []string{}, Prices: []priceChange{}}
	for _, m := range models {
		name := m.Provider + "/" + m.ID
		before, known := old.Lookup(m.Provider, m.ID)
		now, _ := newer.Lookup(m.Provider, m.ID)
		switch {
		case !known:
			c.Added = append(c.Added, name)
		case now.Price != nil && (before.Price == nil || !before.Price.Equal(*now.Price)):
			c.Prices = append(c.Prices, priceChange{name, before.Price, now.Price})
		}
	}
	return c
}

// mostChanges is how many changes of a kind are printed.
const mostChanges = 10

// text describes the changes in a few lines.
func (c catalogChange) text() string {
	lines := []string{fmt.Sprintf("facts about %s, from %s of %s", text.Count(c.Models, "model"), c.Source.Name, c.Date)}
	if n := len(c.Added); n > 0 {
		lines = append(lines, fmt.Sprintf("added %d: %s", n, text.UpTo(mostChanges, c.Added)))
	}
	for _, p := range c.Prices[:min(len(c.Prices), mostChanges)] {
		old := "unknown"
		if p.Old != nil {
			old = inOut(*p.Old)
		}
		lines = append(lines, fmt.Sprintf("price of %s: %s, was %s", p.Model, inOut(*p.New), old))
	}
	if n := len(c.Prices); n > mostChanges {
		lines = append(lines, fmt.Sprintf("prices of %d more", n-mostChanges))
	}
	if len(c.Added)+len(c.Prices) == 0 {
		lines = append(lines, "no new model and no other price")
	}
	return sanitize.Text(strings.Join(lines, "\n"), sanitize.Code)
}

// inOut is a price in a few words, US dollars per million tokens of input and output.
func inOut(p provider.Price) string {
	text := fmt.Sprintf("$%s/M in, $%s/M out", price(p.Input), price(p.Output))
	for _, t := range p.Tiers {
		text += fmt.Sprintf(" (above %s: $%s, $%s)", provider.ShortCount(t.Above), price(t.Input), price(t.Output))
	}
	return text
}
