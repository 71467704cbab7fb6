//go:build ignore

// This program writes catalog.tsv from the model lists of a version of
// charm.land/catwalk, a public module that gathers them from the providers. It
// is run by go generate, with the module's version as its argument; the module
// is no dependency of artoo, only its lists are read.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// providers are those whose models the catalogue has, in its order: artoo's name
// and that of the module's file.
var providers = []string{"anthropic", "openai", "gemini", "deepseek", "openrouter"}

// model is a model as the module's lists have it. Prices are US dollars per
// million tokens.
type model struct {
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

func main() {
	if len(os.Args) != 2 {
		panic("usage: go run catalog_generate.go MODULE@VERSION")
	}
	if err := generate(os.Args[1]); err != nil {
		panic(err)
	}
}

func generate(module string) error {
	dir, date, err := download(module)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s. Made by go generate ./provider; do not edit.\n", module, date)
	b.WriteString("# provider, id, name, window, reply, $/M in, out, cache read, cache write, sees and reasons, efforts\n")
	for _, provider := range providers {
		data, err := os.ReadFile(filepath.Join(dir, "internal", "providers", "configs", provider+".json"))
		if err != nil {
			return err
		}
		var list struct{ Models []model }
		if err := json.Unmarshal(data, &list); err != nil {
			return fmt.Errorf("%s: %w", provider, err)
		}
		for _, m := range newest(list.Models) {
			if line := row(provider, m); line != "" {
				b.WriteString(line)
			}
		}
	}
	return os.WriteFile("catalog.tsv", []byte(b.String()), 0o644)
}

// download gets the module and says where it is and of which day.
func download(module string) (dir, date string, err error) {
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil && len(out) == 0 {
		return "", "", fmt.Errorf("go mod download %s: %w", module, err)
	}
	var m struct{ Dir, Info, Error string }
	if err := json.Unmarshal(out, &m); err != nil {
		return "", "", err
	}
	if m.Error != "" {
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
	return m.Dir, date, nil
}

var dated = regexp.MustCompile(`-(\d{8}|\d{4}-\d\d-\d\d)$`)

// newest takes the dates off the ids, and of models that are then the same the
// one with the latest date.
func newest(models []model) []model {
	var list []model
	at, date := map[string]int{}, map[string]string{}
	for _, m := range models {
		day := dated.FindString(m.ID)
		m.ID = strings.TrimSuffix(m.ID, day)
		i, twice := at[m.ID]
		switch {
		case !twice:
			at[m.ID], date[m.ID] = len(list), day
			list = append(list, m)
		case day > date[m.ID]:
			list[i], date[m.ID] = m, day
		}
	}
	return list
}

// row is a model's line, "" for one that makes no sense.
func row(provider string, m model) string {
	if m.ID == "" || m.Context < 4096 || strings.ContainsAny(m.ID+m.Name, "\t\n") {
		return ""
	}
	output := m.MaxTokens
	if output <= 0 || output >= m.Context {
		output = m.Context / 4
	}
	price := "-\t-\t-\t-"
	if m.In > 0 && m.Out > 0 || strings.HasSuffix(m.ID, ":free") {
		read, write := cached(m)
		price = number(m.In) + "\t" + number(m.Out) + "\t" + number(read) + "\t" + number(write)
	}
	can := ""
	if m.Images {
		can += "i"
	}
	if m.Reasons {
		can += "r"
	}
	if can == "" {
		can = "-"
	}
	efforts := strings.Join(m.Efforts, ",")
	if efforts == "" {
		efforts = "-"
	}
	return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\n", provider, m.ID, m.Name, m.Context, output, price, can, efforts)
}

// cached sorts the two prices of cached tokens, which the lists put under either
// name: reading costs at most half of what input costs, writing at least as much.
// What is neither is not known, which is 0.
func cached(m model) (read, write float64) {
	for _, p := range []float64{m.InCached, m.OutCached} {
		switch {
		case p > 0 && p <= m.In/2 && (read == 0 || p < read):
			read = p
		case p >= m.In && p <= 2*m.In:
			write = max(write, p)
		}
	}
	return read, write
}

// number drops what binary fractions add to a price.
func number(f float64) string {
	return strconv.FormatFloat(math.Round(f*1e6)/1e6, 'f', -1, 64)
}
