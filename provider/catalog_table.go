package provider

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

// The lists of a public module are the larger part of the catalogue. They are
// kept as text that is looked at only when a model is looked up, so that the
// start of the program does not pay for them. To refresh them: write the newest
// version that can be had below, and go generate ./provider.

//go:generate go run catalog_generate.go charm.land/catwalk@v0.16.1
//go:embed catalog.tsv
var table string

// CatalogSource names the module that the larger part of the catalogue was made
// from, its version and its day.
func CatalogSource() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(table, "# "), ". ")
	return first
}

// tableIndex finds the lines of the table.
type tableIndex struct {
	byKey map[string]string   // by provider/id
	lines map[string][]string // of a provider, in their order
}

var index = sync.OnceValue(func() tableIndex {
	x := tableIndex{byKey: map[string]string{}, lines: map[string][]string{}}
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		provider, rest, ok := strings.Cut(line, "\t")
		if !ok || provider[0] == '#' {
			continue
		}
		id, _, _ := strings.Cut(rest, "\t")
		x.byKey[provider+"/"+id] = line
		x.lines[provider] = append(x.lines[provider], line)
	}
	return x
})

// parseRow reads a line of the table; a test reads them all. The module lists
// none but models that call tools.
func parseRow(line string) ModelInfo {
	f := strings.Split(line, "\t")
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(f[i], 64) // "-" stands where there is none
		return n
	}
	m := ModelInfo{
		Provider: f[0], ID: f[1], Name: f[2], Context: int(number(3)), MaxOutput: int(number(4)),
		Images: strings.Contains(f[9], "i"), Reasoning: strings.Contains(f[9], "r"), Tools: true,
	}
	if f[5] != "-" {
		m.Price = &Price{Input: number(5), Output: number(6), CacheRead: number(7), CacheWrite: number(8)}
	}
	if f[10] != "-" {
		m.Efforts = strings.Split(f[10], ",")
	}
	return m
}
