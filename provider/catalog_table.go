package provider

import (
	"cmp"
	_ "embed"
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
	Date string `json:"date"` // the day of the list, as 2026-11-10; "" for what is asked or set now
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

// row is what the catalogue has under exactly this id, the caller's own. A list
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
const tableHead = "# artoo models 1"

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
				return nil, fmt.Errorf("%q is no date", fields[1])
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

const columns = "provider\tid\tname\twindow\treply\t$/M in\tout\tcache read\tcache write\ttiers\tsees and reasons\tefforts" +
	"\twindow's source\tprice's source"

func (x *tableIndex) parse(line string) (ModelInfo, error) {
	f := strings.Split(line, "\t")
	if len(f) != strings.Count(columns, "\t")+1 {
		return ModelInfo{}, fmt.Errorf("%q: %d columns", line, len(f))
	}
	bad := func(what string) (ModelInfo, error) {
		return ModelInfo{}, fmt.Errorf("%s/%s: bad %s", f[0], f[1], what)
	}
	m := ModelInfo{Provider: f[0], ID: f[1], Name: f[2], Tools: true,
		Images: strings.Contains(f[10], "i"), Reasoning: strings.Contains(f[10], "r")}
	var errs [2]error
	m.Context, errs[0] = strconv.Atoi(f[3])
	m.MaxOutput, errs[1] = strconv.Atoi(f[4])
	if errs != [2]error{} {
		return bad("window")
	}
	if f[5] != "-" {
		price, err := parsePrice(f[5:9])
		if err != nil {
			return bad("price")
		}
		for _, tier := range splitList(f[9], " ") {
			above, rest, _ := strings.Cut(tier, ":")
			n, err := strconv.Atoi(above)
			tierPrice, priceErr := parsePrice(strings.Split(rest, ":"))
			if err != nil || priceErr != nil {
				return bad("price tier")
			}
			price.Tiers = append(price.Tiers, Tier{Above: n, Price: tierPrice})
		}
		m.Price = &price
	}
	m.Efforts = splitList(f[11], ",")
	for at, from := range []*Source{&m.ContextFrom, &m.PriceFrom} {
		if f[12+at] == "-" {
			continue
		}
		n, err := strconv.Atoi(f[12+at])
		if err != nil || n < 1 || n > len(x.sources) {
			return bad("source")
		}
		*from = x.sources[n-1]
	}
	return m, m.check()
}

// splitList is what a column lists, nil for "-".
func splitList(column, separator string) []string {
	if column == "-" {
		return nil
	}
	return strings.Split(column, separator)
}

func parsePrice(f []string) (p Price, err error) {
	if len(f) != 4 {
		return p, errors.New("not four prices")
	}
	for i, to := range []*float64{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite} {
		if *to, err = strconv.ParseFloat(f[i], 64); err != nil {
			return p, err
		}
	}
	return p, nil
}

// What no model has: facts beyond are a slip, or no facts at all.
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
	sound := func(p Price) bool {
		for _, rate := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
			if rate != 0 && !(rate >= minRate && rate <= maxRate) { // NaN, too
				return false
			}
		}
		return true
	}
	above := 0
	for _, tier := range m.Price.Tiers {
		if tier.Above <= above || tier.Above > maxWindow || !sound(tier.Price) {
			return bad("price tier")
		}
		above = tier.Above
	}
	if !sound(*m.Price) || len(m.Price.Tiers) > maxTiers {
		return bad("price")
	}
	return nil
}

// EncodeCatalog writes models as OpenCatalog reads them. The error is an implausible fact.
func EncodeCatalog(models []ModelInfo) (string, error) {
	var sources []Source
	number := func(s Source) string {
		if s.Date == "" {
			return "-"
		}
		i := slices.Index(sources, s)
		if i < 0 {
			i, sources = len(sources), append(sources, s)
		}
		return strconv.Itoa(i + 1)
	}
	var rows strings.Builder
	for _, m := range models {
		if err := m.check(); err != nil {
			return "", err
		}
		price, tiers := "-\t-\t-\t-", []string{}
		if m.Price != nil {
			price = m.Price.join("\t")
			for _, t := range m.Price.Tiers {
				tiers = append(tiers, strconv.Itoa(t.Above)+":"+t.join(":"))
			}
		}
		can := ""
		if m.Images {
			can += "i"
		}
		if m.Reasoning {
			can += "r"
		}
		rows.WriteString(strings.Join([]string{m.Provider, m.ID, m.Name, strconv.Itoa(m.Context), strconv.Itoa(m.MaxOutput),
			price, cmp.Or(strings.Join(tiers, " "), "-"), cmp.Or(can, "-"), cmp.Or(strings.Join(m.Efforts, ","), "-"),
			number(m.ContextFrom), number(m.PriceFrom)}, "\t") + "\n")
	}
	head := tableHead + "\n"
	for _, s := range sources {
		head += "# source\t" + s.Date + "\t" + s.Name + "\n"
	}
	return head + "# " + columns + "\n" + rows.String(), nil
}

func (p Price) join(separator string) string {
	var all []string
	for _, rate := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite} {
		all = append(all, strconv.FormatFloat(rate, 'f', -1, 64))
	}
	return strings.Join(all, separator)
}
