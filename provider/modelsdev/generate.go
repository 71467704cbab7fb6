//go:build ignore

// This program writes ../catalog.tsv from the model lists of two public packages: a
// version of charm.land/catwalk, a Go module, and a newer one of
// @earendil-works/pi-ai, an npm package that is made from models.dev. It is run by
// go generate with both; neither is a dependency of artoo, only their lists are
// read. A fact of the second wins, except for the window: there it writes where
// the higher price begins, so the larger of the two is the model's.
package main

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/modelsdev"
)

func main() {
	if len(os.Args) != 3 {
		panic("usage: go run generate.go MODULE@VERSION PACKAGE@VERSION")
	}
	if err := generate(os.Args[1], os.Args[2]); err != nil {
		panic(err)
	}
}

func generate(module, pkg string) error {
	older, err := catwalk(module)
	if err != nil {
		return err
	}
	newer, err := pi(pkg)
	if err != nil {
		return err
	}
	text, err := provider.EncodeCatalog(merge(older, newer))
	if err != nil {
		return err
	}
	return os.WriteFile("../catalog.tsv", []byte(text), 0o644)
}

// merge puts the newer facts over the older ones, provider by provider.
func merge(older, newer []provider.ModelInfo) (all []provider.ModelInfo) {
	for _, name := range providers {
		first := len(all)
		for _, list := range [][]provider.ModelInfo{newer, older} {
			for _, m := range list {
				if m.Provider != name || strings.HasSuffix(m.ID, ":batch") {
					continue
				}
				i := slices.IndexFunc(all[first:], func(other provider.ModelInfo) bool { return other.ID == m.ID })
				if i < 0 {
					all = append(all, m)
					continue
				}
				have := &all[first+i]
				if m.Context > have.Context {
					have.Context, have.ContextFrom = m.Context, m.ContextFrom
				}
				if have.Price == nil {
					have.Price, have.PriceFrom = m.Price, m.PriceFrom
				}
				if have.Efforts == nil {
					have.Efforts = m.Efforts
				}
			}
		}
	}
	return all
}

var providers = []string{"anthropic", "openai", "gemini", "deepseek", "openrouter"}

// catwalk reads the lists of the module. Prices are US dollars per million tokens.
func catwalk(module string) ([]provider.ModelInfo, error) {
	dir, date, err := download(module)
	if err != nil {
		return nil, err
	}
	from := provider.Source{Name: strings.Replace(module, "@", " ", 1), Date: date}
	var all []provider.ModelInfo
	for _, name := range providers {
		data, err := os.ReadFile(filepath.Join(dir, "internal", "providers", "configs", name+".json"))
		if err != nil {
			return nil, err
		}
		var list struct {
			Models []struct {
				ID        string   `json:"id"`
				Name      string   `json:"name"`
				In        float64  `json:"cost_per_1m_in"`
				Out       float64  `json:"cost_per_1m_out"`
				InCached  float64  `json:"cost_per_1m_in_cached"`
				OutCached float64  `json:"cost_per_1m_out_cached"`
				Context   int      `json:"context_window"`
				MaxTokens int      `json:"default_max_tokens"`
				Reasons   bool     `json:"can_reason"`
				Efforts   []string `json:"reasoning_levels"`
				Images    bool     `json:"supports_attachments"`
			}
		}
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var found []provider.ModelInfo
		for _, m := range list.Models {
			if m.Context < 4096 {
				continue
			}
			read, write := cached(m.In, m.InCached, m.OutCached)
			price := provider.Price{Input: round(m.In), Output: round(m.Out), CacheRead: round(read), CacheWrite: round(write)}
			info := provider.ModelInfo{Provider: name, ID: m.ID, Name: m.Name, Context: m.Context,
				MaxOutput: modelsdev.Reply(m.MaxTokens, m.Context), Images: m.Images, Reasoning: m.Reasons, Efforts: m.Efforts,
				ContextFrom: from}
			if modelsdev.Charged(m.ID, price) {
				info.Price, info.PriceFrom = &price, from
			}
			found = append(found, info)
		}
		all = append(all, modelsdev.Undated(found)...)
	}
	return all, nil
}

// download gets the module and says where it is and of which day. A module that
// wants a newer Go is there all the same.
func download(module string) (dir, date string, err error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil && len(out) == 0 {
		return "", "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Path, Version, Dir, Info, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", err
	}
	if m.Info == "" {
		return "", "", errors.New(m.Error)
	}
	data, err := os.ReadFile(m.Info)
	if err != nil {
		return "", "", err
	}
	var info struct{ Time string }
	if err := json.Unmarshal(data, &info); err != nil {
		return "", "", err
	}
	date, _, _ = strings.Cut(info.Time, "T")
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	return cmp.Or(m.Dir, filepath.Join(strings.TrimSpace(string(cache)), m.Path+"@"+m.Version)), date, err
}

// cached sorts the two prices of cached tokens, listed under either name: reading costs at
// most half of input, writing at least as much; else 0.
func cached(in, one, other float64) (read, write float64) {
	for _, p := range []float64{one, other} {
		switch {
		case p > 0 && p <= in/2 && (read == 0 || p < read):
			read = p
		case p >= in && p <= 2*in:
			write = max(write, p)
		}
	}
	return read, write
}

func round(f float64) float64 { return math.Round(f*1e6) / 1e6 }

func pi(pkg string) ([]provider.ModelInfo, error) {
	name, version, _ := strings.Cut(strings.TrimPrefix(pkg, "@"), "@")
	out, err := exec.Command("npm", "view", pkg, "time", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("npm view %s: %w", pkg, err)
	}
	var days map[string]string
	if err := json.Unmarshal(out, &days); err != nil {
		return nil, err
	}
	date, _, _ := strings.Cut(days[version], "T")
	from := provider.Source{Name: "models.dev in @" + name + " " + version, Date: date}
	files, err := unpack(pkg)
	if err != nil {
		return nil, err
	}
	var all []provider.ModelInfo
	for _, name := range providers {
		var list map[string]map[string]piModel // keyed by API and kind:id
		if err := json.Unmarshal(files[modelsdev.Providers()[name]], &list); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var found []provider.ModelInfo
		for _, models := range list {
			for _, m := range models {
				if m.Type == "chat" && m.Context >= 4096 && (name != "openrouter" || strings.Contains(m.ID, "/")) {
					found = append(found, m.info(name, from))
				}
			}
		}
		slices.SortFunc(found, func(a, b provider.ModelInfo) int { return modelsdev.Order(a.ID, b.ID) })
		all = append(all, modelsdev.Undated(found)...)
	}
	return all, nil
}

// piModel is a model of the package. Prices are US dollars per million tokens.
type piModel struct {
	Type      string             `json:"type"`
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Reasoning bool               `json:"reasoning"`
	Input     []string           `json:"input"`
	Context   int                `json:"contextWindow"`
	Output    int                `json:"maxTokens"`
	Levels    map[string]*string `json:"thinkingLevelMap"`
	Cost      struct {
		piPrice
		Tiers []struct {
			Above int `json:"inputTokensAbove"`
			piPrice
		} `json:"tiers"`
	} `json:"cost"`
}

type piPrice struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
	Read   float64 `json:"cacheRead"`
	Write  float64 `json:"cacheWrite"`
}

func (p piPrice) price() provider.Price {
	return provider.Price{Input: round(p.Input), Output: round(p.Output), CacheRead: round(p.Read), CacheWrite: round(p.Write)}
}

func (m piModel) info(name string, from provider.Source) provider.ModelInfo {
	info := provider.ModelInfo{Provider: name, ID: m.ID, Name: strings.TrimSuffix(m.Name, " (latest)"), Context: m.Context,
		MaxOutput: modelsdev.Reply(m.Output, m.Context), Images: slices.Contains(m.Input, "image"), Reasoning: m.Reasoning,
		ContextFrom: from}
	price := m.Cost.price()
	for _, t := range m.Cost.Tiers {
		price.Tiers = append(price.Tiers, provider.Tier{Above: t.Above, Price: t.price()})
	}
	if modelsdev.Charged(m.ID, price) {
		info.Price, info.PriceFrom = &price, from
	}
	if m.Levels != nil && name != "openrouter" {
		info.Efforts = m.efforts(name == "anthropic")
	}
	return info
}

// efforts are the vendor's words for the levels. Of low, medium and high an unnamed level
// exists, of the others it does not; null is none. Anthropic's models switch reasoning off
// in another way.
func (m piModel) efforts(claude bool) (all []string) {
	for _, level := range []string{"off", "minimal", "low", "medium", "high", "xhigh", "max"} {
		word, named := m.Levels[level]
		usual := level == "low" || level == "medium" || level == "high"
		switch {
		case claude && (level == "off" || level == "minimal"):
		case named && word != nil:
			all = append(all, strings.ToLower(*word))
		case !named && usual:
			all = append(all, level)
		}
	}
	return all
}

// unpack fetches the package and returns its lists by the name of the provider.
func unpack(pkg string) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "catalog")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out, err := exec.Command("npm", "pack", "--silent", "--pack-destination", dir, pkg).Output()
	if err != nil {
		return nil, fmt.Errorf("npm pack %s: %w", pkg, err)
	}
	f, err := os.Open(filepath.Join(dir, strings.TrimSpace(string(out))))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if name, ok := strings.CutPrefix(h.Name, "package/dist/providers/data/"); ok {
			data, err := io.ReadAll(t)
			if err != nil {
				return nil, err
			}
			files[strings.TrimSuffix(name, ".json")] = data
		}
	}
}
