package gemini

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

var _ provider.Lister = (*Provider)(nil)

const pageSize = "1000"

// modelPage is a page of GET /v1beta/models.
type modelPage struct {
	Models []listed `json:"models"`
	Next   string   `json:"nextPageToken"`
}

type listed struct {
	Name     string   `json:"name"` // models/x, tunedModels/x
	Title    string   `json:"displayName"`
	Input    int      `json:"inputTokenLimit"`
	Output   int      `json:"outputTokenLimit"`
	Methods  []string `json:"supportedGenerationMethods"`
	Thinking bool     `json:"thinking"`
}

// Models implements provider.Lister, in the server's own order.
func (p *Provider) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	if p.vertex() {
		return listing.Vertex(ctx, p.Server, provider.WireGemini, func(id string) bool {
			return parseFamily(id).gemini && listed{Name: id}.talks()
		})
	}
	request := func(token string) (wire.Request, error) {
		query := url.Values{"pageSize": {pageSize}}
		if token != "" {
			query.Set("pageToken", token)
		}
		return p.request(ctx, query, "v1beta", "models")
	}
	var list []provider.ModelInfo
	err := wire.Pages(ctx, p.Server, request, func(page modelPage) string {
		for _, m := range page.Models {
			if m.talks() {
				list = append(list, m.info(p.Server))
			}
		}
		return page.Next
	})
	return list, err
}

// talks excludes OpenAI's models for images, speech and vectors by their names.
func (m listed) talks() bool {
	if m.Name == "" || len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
		return false
	}
	return !slices.ContainsFunc([]string{"embedding", "-image", "-tts", "-audio", "-live"},
		func(word string) bool { return strings.Contains(m.Name, word) })
}

func (m listed) info(s provider.Server) provider.ModelInfo {
	same := listing.Model{ID: strings.TrimPrefix(m.Name, "models/"), Title: m.Title, Input: m.Input, Output: m.Output}
	info := same.Info(s)
	info.Reasoning = info.Reasoning || m.Thinking
	return info
}

var _ provider.Describer = (*Provider)(nil)

// Describe implements provider.Describer with the server's description. Guess stays true if
// it has none in time; an unreachable server or a refused key is an error.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return p.facts.Once(model, func() (info provider.ModelInfo, final bool, err error) {
		info, _ = p.Catalog.Lookup(p.Name, strings.TrimPrefix(model, "models/"))
		if p.vertex() { // its descriptions have no window
			return info, true, nil
		}
		kind, name := kindOf(model)
		r, err := p.request(ctx, nil, "v1beta", kind, url.PathEscape(name))
		if err != nil {
			return info, false, err
		}
		server := p.Server
		server.RequestTimeout = listing.DescribeTimeout
		data, err := wire.Fetch(ctx, server, r)
		if e := provider.AsError(err); e != nil {
			final, err = listing.Silent(e)
			return info, final && e.Status >= 400, err // a page of a proxy is no final answer
		}
		var found listed
		if wire.Decode(data, &found) != nil {
			return info, false, nil // a proxy, perhaps, which describes nothing
		}
		found.Name = model
		return found.info(p.Server), true, nil
	})
}

// family holds the facts that follow from a model's ID.
type family struct {
	gemini bool
	kind   string // pro, flash, lite or another word
	// version is major*100+minor; an alias without one is the newest.
	version int
}

const newest = 99_99

// numbers finds the first number of an ID behind gemini: major, or major and minor.
var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[-_/:])(\d{1,2})(?:\.(\d{1,2}))?(?:[-_/:]|$)`)
})

func parseFamily(model string) family {
	_, rest, found := strings.Cut(strings.ToLower(model), "gemini")
	f := family{gemini: found, version: newest}
	for _, kind := range []string{"flash", "lite", "pro"} {
		if found && strings.Contains(rest, "-"+kind) {
			f.kind = kind
		}
	}
	if version := numbers().FindStringSubmatch(rest); version != nil {
		major, _ := strconv.Atoi(version[1]) // digits only; a missing minor is 0
		minor, _ := strconv.Atoi(version[2])
		f.version = major*100 + minor
	}
	return f
}

// thinks reports whether the family reasons; the others refuse any word about it.
func (f family) thinks() bool { return f.gemini && f.version >= 205 }

// byLevel reports whether the effort is a word, not a number of tokens.
func (f family) byLevel() bool { return f.gemini && f.version >= 300 }

// needsSignatures reports whether the first call of each step must carry one.
func (f family) needsSignatures() bool { return f.byLevel() }

// nestsImages reports whether the images of a tool's result stand inside of it.
func (f family) nestsImages() bool { return f.byLevel() }

// thinkingConfig says how hard to think; either a budget or a level, never both.
type thinkingConfig struct {
	IncludeThoughts bool   `json:"includeThoughts,omitempty"`
	Budget          *int   `json:"thinkingBudget,omitempty"`
	Level           string `json:"thinkingLevel,omitempty"`
}

// think maps an effort to the family's words, or nil. limit is the reply's in tokens, or 0.
func (f family) think(effort provider.Effort, limit int) *thinkingConfig {
	switch {
	case !f.thinks():
		return nil
	case effort == "" && f.kind == "lite" && !f.byLevel():
		return nil // it does not think unless told to, and refuses to show thoughts that are not there
	case effort == "":
		return &thinkingConfig{IncludeThoughts: true}
	case f.byLevel():
		return &thinkingConfig{IncludeThoughts: true, Level: f.level(effort)}
	}
	budget := f.budget(effort, limit)
	return &thinkingConfig{IncludeThoughts: budget != 0, Budget: &budget}
}

// level is the word for an effort. Pro always thinks; its first line knew no middle.
func (f family) level(effort provider.Effort) string {
	switch effort {
	case provider.EffortOff:
		if f.kind == "pro" {
			return "LOW"
		}
		return "MINIMAL"
	case provider.EffortLow:
		return "LOW"
	case provider.EffortMedium:
		if f.kind == "pro" && f.version == 300 {
			return "HIGH"
		}
		return "MEDIUM"
	}
	return "HIGH"
}

// The budgets that 2.5 takes, in tokens.
const (
	leastPro  = 128
	leastLite = 512
	mostPro   = 32_768
	mostFlash = 24_576
)

// budget is a share of the reply's tokens, within the model's limits.
func (f family) budget(effort provider.Effort, limit int) int {
	least, most := 0, mostFlash
	switch f.kind {
	case "pro":
		least, most = leastPro, mostPro // it cannot do without
	case "lite":
		least = leastLite
	}
	if effort == provider.EffortOff && f.kind != "pro" {
		return 0
	}
	if limit <= 0 {
		limit = most
	}
	return min(max(limit*effort.Share()/100, least), most)
}
