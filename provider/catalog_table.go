package provider

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// The built-in catalog is text, parsed only when a model is looked up; modelsdev writes it.

//go:embed catalog.tsv
var table string

// Source says where a fact is from.
type Source struct {
	Name string `json:"source"`
	Date string `json:"date"` // the day of the list, as 2026-11-10; "" for values asked or set now
}

// Age is how old the fact is; not dated is one that is asked or set now.
func (s Source) Age(now time.Time) (age time.Duration, dated bool) {
	day, err := time.Parse(time.DateOnly, s.Date)
	return max(0, now.Sub(day)), err == nil
}

// Sources of facts that no list gives.
const (
	FromServer = "server" // the provider was asked
	FromConfig = "config" // the user's file
	FromGuess  = "guess"  // the least that the model's family has
	FromNature = "free"   // it runs locally
)

// Catalog is the built-in facts of models, and over them newer ones that the user
// installed; nil is the built-in ones. Several goroutines may use it.
type Catalog struct {
	installed *tableIndex
}

// OpenCatalog puts facts written by EncodeCatalog over the built-in ones, or returns nil if
// they are older. Text with a fault is an error.
func OpenCatalog(installed string) (*Catalog, error) {
	x, err := readTable(installed)
	if err != nil {
		return nil, err
	}
	for _, lines := range x.lines {
		for _, line := range lines {
			if _, err := x.parse(line); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case len(x.byKey) == 0:
		return nil, errors.New("no models in it")
	case x.date() < builtIn().date():
		return nil, nil
	}
	return &Catalog{installed: x}, nil
}

// Sources are the lists that the catalogue was made from, the newest first.
func (c *Catalog) Sources() []Source {
	var all []Source
	for _, x := range c.tables() {
		all = append(all, x.sources...)
	}
	slices.SortStableFunc(all, func(a, b Source) int { return cmp.Compare(b.Date, a.Date) })
	return all
}

func (c *Catalog) tables() []*tableIndex {
	if c == nil || c.installed == nil {
		return []*tableIndex{builtIn()}
	}
	return []*tableIndex{c.installed, builtIn()}
}

// row is the catalogue's row of exactly this id, the caller's own. A list
// that gives no price leaves that of the list below it.
func (c *Catalog) row(provider, id string) (found ModelInfo, ok bool) {
	if m := demoModel(); provider == m.Provider && id == m.ID {
		return m, true
	}
	for _, x := range c.tables() {
		line, has := x.byKey[provider+"/"+id]
		if !has {
			continue
		}
		m, err := x.parse(line)
		switch {
		case err != nil: // OpenCatalog and a test have read all lines
		case !ok:
			found, ok = m, true
		case found.Price == nil:
			found.Price, found.PriceFrom = m.Price, m.PriceFrom
		}
	}
	return found, ok
}

// Models lists the models for conversations, the newest first if known, with the server's
// facts over the catalog's. Its errors are *Error. Several goroutines may call it.
func (c *Catalog) Models(provider string) []ModelInfo {
	var list []ModelInfo
	if m := demoModel(); provider == m.Provider {
		list = append(list, m)
	}
	seen := map[string]bool{}
	for _, x := range c.tables() {
		for _, line := range x.lines[provider] {
			id := idOf(line)
			if seen[id] {
				continue
			}
			seen[id] = true
			m, _ := c.row(provider, id)
			m.Patches = patches(m.ID)
			list = append(list, m)
		}
	}
	return list
}

type tableIndex struct {
	sources []Source
	byKey   map[string]string   // keyed by provider/id
	lines   map[string][]string // the lines of a provider, in their order
}

var builtIn = sync.OnceValue(func() *tableIndex {
	x, err := readTable(table)
	if err != nil {
		panic(err) // a test reads it
	}
	return x
})

// tableHead is the first line of a table; its number changes with the columns.
const tableHead = "# artoo models 2"

// readTable indexes a table. Of its rows it reads only the ids.
func readTable(text string) (*tableIndex, error) {
	x := &tableIndex{byKey: map[string]string{}, lines: map[string][]string{}}
	head, rest, _ := strings.Cut(text, "\n")
	if head != tableHead {
		return nil, errors.New("it does not begin with " + strconv.Quote(tableHead))
	}
	for line := range strings.Lines(rest) {
		line, whole := strings.CutSuffix(line, "\n")
		fields := strings.SplitN(line, "\t", 3)
		switch {
		case !whole || len(fields) < 3:
			return nil, fmt.Errorf("cut off at %q", line)
		case fields[0] == "# source":
			if _, err := time.Parse(time.DateOnly, fields[1]); err != nil {
				return nil, fmt.Errorf("%q is not a date", fields[1])
			}
			x.sources = append(x.sources, Source{Name: fields[2], Date: fields[1]})
		case !strings.HasPrefix(line, "#"):
			x.byKey[fields[0]+"/"+fields[1]] = line
			x.lines[fields[0]] = append(x.lines[fields[0]], line)
		}
	}
	if len(x.sources) == 0 {
		return nil, errors.New("no source and date in it")
	}
	return x, nil
}

func (x *tableIndex) date() (newest string) {
	for _, s := range x.sources {
		newest = max(newest, s.Date)
	}
	return newest
}

func idOf(line string) string { return strings.SplitN(line, "\t", 3)[1] }

// row is the third column of a line, a list in JSON in the order of values.
type row struct {
	name                  string
	window, reply         int
	rates                 [][]float64 // see Price.rates; nil if no price is known
	sees, reasons         bool
	efforts               []string
	windowFrom, priceFrom int // the numbers of their sources, from 1; 0 for none
}

func (r *row) values() *[9]any {
	return &[9]any{&r.name, &r.window, &r.reply, &r.rates, &r.sees, &r.reasons, &r.efforts, &r.windowFrom, &r.priceFrom}
}

const columns = "provider\tid\t[name, window, reply, [[above, $/M in, out, cache read, cache write]], sees, reasons, efforts, " +
	"window's source, price's source]"

func (x *tableIndex) parse(line string) (ModelInfo, error) {
	f := strings.SplitN(line, "\t", 3)
	m := ModelInfo{Provider: f[0], ID: f[1], Tools: true}
	var r row
	if err := json.Unmarshal([]byte(f[2]), r.values()); err != nil {
		return m, fmt.Errorf("%s/%s: %w", m.Provider, m.ID, err)
	}
	m.Name, m.Context, m.MaxOutput, m.Images, m.Reasoning, m.Efforts = r.name, r.window, r.reply, r.sees, r.reasons, r.efforts
	for i, rate := range r.rates {
		if len(rate) != 5 {
			return m, fmt.Errorf("%s/%s: bad price", m.Provider, m.ID)
		}
		p := Price{Input: rate[1], Output: rate[2], CacheRead: rate[3], CacheWrite: rate[4]}
		if i == 0 {
			m.Price = &p
		} else {
			m.Price.Tiers = append(m.Price.Tiers, Tier{Above: int(rate[0]), Price: p})
		}
	}
	for number, from := range map[*int]*Source{&r.windowFrom: &m.ContextFrom, &r.priceFrom: &m.PriceFrom} {
		switch n := *number; {
		case n < 0 || n > len(x.sources):
			return m, fmt.Errorf("%s/%s: bad source", m.Provider, m.ID)
		case n > 0:
			*from = x.sources[n-1]
		}
	}
	return m, m.check()
}

// No model exceeds these: facts beyond are a slip, or no facts at all.
const (
	maxWindow = 100_000_000 // tokens
	maxRate   = 10_000      // US dollars per million tokens
	minRate   = 0.0001      // a smaller rate is the price of a single token
	maxText   = 200         // bytes of a name
	maxTiers  = 8
)

func (m ModelInfo) check() error {
	bad := func(what string) error { return fmt.Errorf("%s/%s: bad %s", m.Provider, m.ID, what) }
	plain := func(s string) bool {
		return s != "" && len(s) <= maxText && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
	}
	switch {
	case !plain(m.ID) || strings.Contains(m.ID, " ") || !plain(m.Name):
		return bad("name")
	case m.Context < leastContext || m.Context > maxWindow || m.MaxOutput <= 0 || m.MaxOutput > m.Context:
		return bad("window")
	}
	for _, effort := range m.Efforts {
		if !plain(effort) || strings.ContainsAny(effort, ", ") {
			return bad("effort")
		}
	}
	if m.Price == nil {
		return nil
	}
	if len(m.Price.Tiers) > maxTiers {
		return bad("price")
	}
	above := -1.0
	for _, rates := range m.Price.rates() {
		if rates[0] <= above || rates[0] > maxWindow {
			return bad("price tier")
		}
		above = rates[0]
		for _, rate := range rates[1:] {
			if rate != 0 && !(rate >= minRate && rate <= maxRate) { // NaN, too
				return bad("price")
			}
		}
	}
	return nil
}

// EncodeCatalog writes models as OpenCatalog reads them. The error is an implausible fact.
func EncodeCatalog(models []ModelInfo) (string, error) {
	var sources []Source
	number := func(s Source) int {
		if s.Date == "" {
			return 0
		}
		i := slices.Index(sources, s)
		if i < 0 {
			i, sources = len(sources), append(sources, s)
		}
		return i + 1
	}
	var rows strings.Builder
	for _, m := range models {
		if err := m.check(); err != nil {
			return "", err
		}
		r := row{name: m.Name, window: m.Context, reply: m.MaxOutput, sees: m.Images, reasons: m.Reasoning, efforts: m.Efforts,
			windowFrom: number(m.ContextFrom), priceFrom: number(m.PriceFrom)}
		if m.Price != nil {
			r.rates = m.Price.rates()
		}
		values, err := Marshal(r.values())
		if err != nil {
			return "", err
		}
		rows.WriteString(m.Provider + "\t" + m.ID + "\t" + string(values) + "\n")
	}
	head := tableHead + "\n"
	for _, s := range sources {
		head += "# source\t" + s.Date + "\t" + s.Name + "\n"
	}
	return head + "# " + columns + "\n" + rows.String(), nil
}

// rates lists the price and its tiers: tokens above which it counts, then $/M as columns names them.
func (p Price) rates() [][]float64 {
	all := [][]float64{{0, p.Input, p.Output, p.CacheRead, p.CacheWrite}}
	for _, t := range p.Tiers {
		all = append(all, []float64{float64(t.Above), t.Input, t.Output, t.CacheRead, t.CacheWrite})
	}
	return all
}
