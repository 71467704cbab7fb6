package provider

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ModelInfo describes a model before it is asked.
type ModelInfo struct {
	Provider string `json:"provider"`
	ID       string `json:"id"`      // the provider's own ID
	Name     string `json:"name"`    // the name to display
	Context  int    `json:"context"` // the window in tokens, prompt and reply together
	// MaxOutput is the most tokens a reply may have, reasoning included.
	MaxOutput int    `json:"max_output"`
	Price     *Price `json:"price"`     // nil when unknown
	Images    bool   `json:"images"`    // it sees
	Tools     bool   `json:"tools"`     // it calls tools
	Reasoning bool   `json:"reasoning"` // it can reason before it answers
	Patches   bool   `json:"patches"`   // it is trained on the patches of apply_patch
	// Efforts are the provider's own words for how hard the model reasons, the
	// least first; nil when they are not known.
	Efforts []string `json:"efforts"`
	// Billed says that the provider reports the cost of each reply.
	Billed bool `json:"-"`
	// Guess says that the catalogue lacks the model: all except its name is its family's.
	Guess       bool   `json:"guess"`
	ContextFrom Source `json:"context_from"` // the source of Context
	PriceFrom   Source `json:"price_from"`   // zero if Price is nil
}

// Can names the abilities that not every model has, or "".
func (m ModelInfo) Can() string {
	var can []string
	for _, a := range []struct {
		has  bool
		name string
	}{{m.Images, "vision"}, {m.Reasoning, "reasoning"}, {!m.Tools, "no tools"}} {
		if a.has {
			can = append(can, a.name)
		}
	}
	return strings.Join(can, ", ")
}

// About describes the model in a few words, without its name.
func (m ModelInfo) About() string {
	words := []string{ShortCount(m.Context) + " window", ShortCount(m.MaxOutput) + " reply"}
	if p := m.Price; p != nil {
		words = append(words, fmt.Sprintf("$%v/M in, $%v/M out", p.Input, p.Output))
		if len(p.Tiers) > 0 {
			words = append(words, "more above "+ShortCount(p.Tiers[0].Above))
		}
	}
	if can := m.Can(); can != "" {
		words = append(words, can)
	}
	if f, _ := FactsOf(m.Provider); m.ID == cmp.Or(f.DefaultModel, f.AnyModel) {
		words = append(words, "default")
	}
	if m.Guess {
		words = append(words, "guessed")
	}
	return strings.Join(words, ", ")
}

// ShortCount is a number of tokens as people say it: 200k, 1M.
func ShortCount(n int) string {
	switch {
	case n >= 1_000_000:
		return strconv.FormatFloat(float64(n/10_000)/100, 'f', -1, 64) + "M"
	case n >= 10_000:
		return strconv.Itoa(n/1000) + "k"
	case n >= 1000:
		return strconv.FormatFloat(float64(n/100)/10, 'f', -1, 64) + "k"
	}
	return strconv.Itoa(n)
}

// Price is in US dollars per million tokens. CacheRead or CacheWrite of 0 means Input.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	// Tiers are the prices of longer prompts, the shortest first; or nil.
	Tiers []Tier `json:"tiers,omitempty"`
}

// Tier is the price of a whole request whose prompt is longer than Above tokens.
type Tier struct {
	Above int `json:"above"`
	Price
}

// Equal reports whether everything costs the same at both.
func (p Price) Equal(q Price) bool { return slices.EqualFunc(p.rates(), q.rates(), slices.Equal) }

// For is the price of a request with so many tokens in its prompt, without tiers.
func (p *Price) For(prompt int) Price {
	now := *p
	for _, tier := range p.Tiers {
		if prompt > tier.Above {
			now = tier.Price
		}
	}
	now.Tiers = nil
	return now
}

// Lookup finds a model of a provider, or of its vendor if provider is "". A dated or
// "-latest" ID is that of its family; a router's vendor/model ID falls back to the vendor's
// facts. The price is the provider's own, or zero for local and free models. Without an
// entry known is false and the facts are safe guesses.
func (c *Catalog) Lookup(provider, model string) (info ModelInfo, known bool) {
	if info, known = c.either(provider, model); !known {
		vendor, id := vendorOf(model)
		if info, known = c.find(vendor, id); !known {
			info = guess(vendor, id)
			asked, _ := FactsOf(provider)
			info.Images = info.Images || asked.NewSee && info.Provider == ""
		}
	}
	provider = cmp.Or(provider, info.Provider)
	facts, _ := FactsOf(provider)
	if provider != info.Provider {
		info.Price, info.PriceFrom = nil, Source{}
	}
	if facts.Local != nil && !strings.HasSuffix(model, "cloud") || // runs on the user's own machine
		facts.VendorModels && strings.HasSuffix(model, ":free") {
		info.Price, info.PriceFrom = new(Price), Source{Name: FromNature}
	}
	info.ID, info.Provider, info.Billed = model, provider, facts.Billed
	info.Patches = patches(model)
	return info, known
}

// Lookup is that of the built-in catalogue.
func Lookup(provider, model string) (info ModelInfo, known bool) {
	return (*Catalog)(nil).Lookup(provider, model)
}

// patches reports whether a model is of a family that is trained on patches.
func patches(model string) bool {
	_, id := vendorOf(model)
	_, f := familyOf(family(id))
	return f.Patches
}

// Has reports whether the catalogue lists the model as the provider's own.
func (c *Catalog) Has(provider, model string) bool {
	if f, _ := FactsOf(provider); f.VendorModels {
		model, _, _ = strings.Cut(model, ":")
	}
	_, ok := c.either(provider, model)
	return ok
}

// Newest is the id of the newest model of a provider that a short word such as sonnet means, or "".
func (c *Catalog) Newest(provider, word string) string {
	f, _ := FactsOf(provider)
	prefix, ok := f.Short[strings.TrimSuffix(word, "[1m]")] // Claude Code's mark of a long window
	if !ok {
		return ""
	}
	models := c.Models(provider) // The newest of a family stand first.
	if i := slices.IndexFunc(models, func(m ModelInfo) bool { return strings.HasPrefix(m.ID, prefix) }); i >= 0 {
		return models[i].ID
	}
	return ""
}

// DefaultModel is the model of a provider chosen without one, or "".
func DefaultModel(provider string) string {
	f, _ := FactsOf(provider)
	return f.DefaultModel
}

// ProviderFor names the vendor in whose catalogue the model is, or "".
func (c *Catalog) ProviderFor(model string) string {
	info, _ := c.find("", model)
	return info.Provider
}

// Cost is the cost of one request's usage in US dollars at price. A charge that the provider itself reports wins; nil
// means unknown.
func Cost(usage Usage, price *Price) *float64 {
	if usage.CostUSD != nil {
		return new(*usage.CostUSD)
	}
	if price == nil {
		return nil
	}
	now := price.For(usage.Input + usage.CacheRead + usage.CacheWrite)
	read, write := cmp.Or(now.CacheRead, now.Input), cmp.Or(now.CacheWrite, now.Input)
	sum := float64(usage.Input)*now.Input + float64(usage.Output)*now.Output +
		float64(usage.CacheRead)*read + float64(usage.CacheWrite)*write
	return new(sum / 1e6)
}

// vendorOf takes a router's vendor/model:variant apart, or Bedrock's region.vendor.model-v1:0, in which the
// region may be missing. An unknown vendor is "".
func vendorOf(model string) (vendor, id string) {
	prefix, rest, ok := strings.Cut(model, "/")
	if !ok {
		parts := bedrocks().FindStringSubmatch(model)
		if parts == nil {
			return "", model
		}
		prefix, rest = parts[1], parts[2]
	}
	rest, _, _ = strings.Cut(rest, ":")
	for _, f := range Known() {
		if f.Vendor != "" && (prefix == f.Vendor || prefix == f.Name) {
			return f.Name, rest
		}
	}
	return "", model
}

// find looks for a model among those of its vendor, or of all vendors for "".
func (c *Catalog) find(vendor, id string) (ModelInfo, bool) {
	vendors := []string{vendor}
	if vendor == "" {
		vendors = nil
		for _, f := range Known() {
			if f.Vendor != "" {
				vendors = append(vendors, f.Name)
			}
		}
	}
	for _, name := range []string{id, strings.ReplaceAll(id, ".", "-")} { // routers write claude-haiku-4.5
		for _, v := range vendors {
			if info, ok := c.either(v, name); ok {
				return info, true
			}
		}
	}
	return ModelInfo{}, false
}

// either is the catalogue's row of this id, or that of its family.
func (c *Catalog) either(provider, id string) (ModelInfo, bool) {
	if info, ok := c.row(provider, id); ok {
		return info, true
	}
	return c.row(provider, family(id))
}

// bedrocks is an id of Bedrock's: its vendor, and its model without the version.
var bedrocks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[a-z-]+\.)?([a-z]+)\.([a-z].*?)(?:-v\d+)?(?::\d+)?$`)
})

// dated is the end of an id with a date: -20251001, -2025-10-01, and Vertex's @20251001.
var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(.)(?:[-@]\d{8}|-\d{4}-\d\d-\d\d)$`) })

// family strips "-latest" or a date from an id.
func family(id string) string {
	return dated().ReplaceAllString(strings.TrimSuffix(id, "-latest"), "$1")
}

// The usual window and reply, and the window without which nothing can be done.
const (
	guessContext = 128_000
	guessOutput  = 8_192
	leastContext = 4_096
)

// demoModel is the one that no list has.
func demoModel() ModelInfo {
	return ModelInfo{ID: "demo", Provider: "demo", Name: "the scripted demo", Context: guessContext, MaxOutput: guessOutput,
		Price: new(Price), PriceFrom: Source{Name: FromNature}, Tools: true}
}

// guess makes up the facts of a model that is not in the catalogue.
func guess(vendor, id string) ModelInfo {
	info := ModelInfo{Provider: vendor, Context: guessContext, MaxOutput: guessOutput, Tools: true}
	if maker, f := familyOf(id); maker != "" {
		info.MaxOutput, info.Images, info.Reasoning = f.MaxOutput, f.Images, f.Reasoning
		if info.Provider == "" && !f.Open {
			info.Provider = maker
		}
	}
	if info.Provider == "" && seesByName(id) {
		info.Images = true
	}
	info.ID, info.Name, info.Guess, info.ContextFrom = id, id, true, Source{Name: FromGuess}
	return info
}

// seesByName knows open models that see by a word of their names.
func seesByName(id string) bool {
	id = strings.ToLower(id)
	for _, word := range []string{"llava", "vision", "pixtral", "moondream", "internvl", "minicpm-v", "-vl",
		"2vl", "2.5vl", "3vl"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
}
