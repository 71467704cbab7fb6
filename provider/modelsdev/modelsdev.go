// Package modelsdev reads the facts of models in the form of models.dev's
// api.json, which its maintainers gather from the providers.
package modelsdev

// The built-in catalogue is made from two public lists. To refresh it: write the
// newest versions that can be had below, and go generate ./provider/modelsdev.

//go:generate go run generate.go charm.land/catwalk@v0.52.86 @earendil-works/pi-ai@1.5.2

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"artoo/provider"
)

// Providers are those whose models artoo takes from a list: its own name for each,
// and that of the list.
func Providers() map[string]string {
	return map[string]string{"anthropic": "anthropic", "openai": "openai", "gemini": "google", "deepseek": "deepseek",
		"openrouter": "openrouter"}
}

// model is a model of the list. A field that is not there says nothing.
type model struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Tools      bool   `json:"tool_call"`
	Reasoning  bool   `json:"reasoning"`
	Modalities struct {
		Input  []string `json:"input"`
		Output []string `json:"output"`
	} `json:"modalities"`
	Limit struct {
		Context int `json:"context"`
		Output  int `json:"output"`
	} `json:"limit"`
	Cost *cost `json:"cost"`
}

type cost struct {
	rates
	Tiers []struct {
		rates
		Tier struct {
			Type string `json:"type"`
			Size int    `json:"size"`
		} `json:"tier"`
	} `json:"tiers"`
	// Long stands in older lists in place of tiers.
	Long *rates `json:"context_over_200k"`
}

type rates struct {
	Input  *float64 `json:"input"`
	Output *float64 `json:"output"`
	Read   float64  `json:"cache_read"`
	Write  float64  `json:"cache_write"`
}

// Read reads the list: models of known providers that converse and call tools, in a stable
// order, with this source for every fact. provider.EncodeCatalog finds implausible facts.
func Read(data []byte, from provider.Source) ([]provider.ModelInfo, error) {
	var list map[string]struct {
		Models map[string]model `json:"models"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			err = fmt.Errorf("%s at byte %d is of the wrong type", wrong.Value, wrong.Offset)
		}
		return nil, fmt.Errorf("no list of models in the form of models.dev's api.json: %w", err)
	}
	var all []provider.ModelInfo
	names := Providers()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var found []provider.ModelInfo
		models := list[names[name]].Models
		for _, id := range slices.SortedFunc(maps.Keys(models), Order) {
			m := models[id]
			m.ID = cmp.Or(m.ID, id)
			if !m.talks() {
				continue
			}
			info, err := m.info(name, from)
			if err != nil {
				return nil, err
			}
			found = append(found, info)
		}
		all = append(all, Undated(found)...)
	}
	if len(all) == 0 {
		return nil, errors.New("no list of models in the form of models.dev's api.json: none of a provider that artoo knows")
	}
	return all, nil
}

func (m model) talks() bool {
	return m.Tools && !strings.HasSuffix(m.ID, ":batch") && (len(m.Modalities.Output) == 0 || slices.Contains(m.Modalities.Output, "text")) &&
		m.Limit.Context >= leastWindow
}

// leastWindow is the window, in tokens, without which nothing can be done.
const leastWindow = 4096

func (m model) info(name string, from provider.Source) (provider.ModelInfo, error) {
	info := provider.ModelInfo{Provider: name, ID: m.ID, Name: strings.TrimSuffix(cmp.Or(m.Name, m.ID), " (latest)"),
		Context: m.Limit.Context, MaxOutput: Reply(m.Limit.Output, m.Limit.Context), Tools: true,
		Images: slices.Contains(m.Modalities.Input, "image"), Reasoning: m.Reasoning, ContextFrom: from}
	if m.Cost == nil {
		return info, nil
	}
	price, known := m.Cost.price()
	if !known {
		return info, nil
	}
	for _, t := range m.Cost.Tiers {
		tier, known := t.price()
		if !known || t.Tier.Type != "context" {
			return info, fmt.Errorf("%s/%s: a price tier of a kind that artoo does not know", name, m.ID)
		}
		price.Tiers = append(price.Tiers, provider.Tier{Above: t.Tier.Size, Price: tier})
	}
	if long := m.Cost.Long; long != nil && price.Tiers == nil {
		if tier, known := long.price(); known {
			price.Tiers = []provider.Tier{{Above: 200_000, Price: tier}}
		}
	}
	slices.SortStableFunc(price.Tiers, func(a, b provider.Tier) int { return a.Above - b.Above })
	if Charged(m.ID, price) {
		info.Price, info.PriceFrom = &price, from
	}
	return info, nil
}

func (r rates) price() (p provider.Price, known bool) {
	if r.Input == nil || r.Output == nil {
		return p, false
	}
	return provider.Price{Input: *r.Input, Output: *r.Output, CacheRead: r.Read, CacheWrite: r.Write}, true
}

// Charged reports whether a list means a price by it: some write 0 for unknown.
func Charged(id string, p provider.Price) bool {
	return p.Input != 0 && p.Output != 0 || strings.HasSuffix(id, ":free")
}

// Reply is the longest reply, in tokens, of a model: some lists give none, or the
// whole window.
func Reply(output, window int) int {
	if output <= 0 || output >= window {
		return window / 4
	}
	return min(output, window/2) // room for a prompt
}

// Order sorts ids by vendor or family, and within it the newest first.
func Order(a, b string) int {
	family := func(id string) string { return id[:len(id)-len(strings.TrimLeft(id, "~abcdefghijklmnopqrstuvwxyz"))] }
	return cmp.Or(cmp.Compare(family(a), family(b)), cmp.Compare(b, a))
}

// Undated takes the dates off the ids; of equal ones the newest stays.
func Undated(models []provider.ModelInfo) []provider.ModelInfo {
	var list []provider.ModelInfo
	at, date := map[string]int{}, map[string]string{}
	for _, m := range models {
		day := dated().FindString(m.ID)
		m.ID = strings.TrimSuffix(m.ID, day)
		i, twice := at[m.ID]
		switch {
		case !twice:
			at[m.ID], date[m.ID] = len(list), day
			list = append(list, m)
		case date[m.ID] != "" && (day == "" || day > date[m.ID]):
			list[i], date[m.ID] = m, day
		}
	}
	return list
}

func dated() *regexp.Regexp { return regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d)$`) }
