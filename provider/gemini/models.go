package gemini

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Lister = (*Provider)(nil)

// pageSize is the most models that the API puts into a page.
const pageSize = "1000"

// modelPage is a page of GET /v1beta/models. A field that a server leaves out
// says nothing.
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

// Models implements provider.Lister. The server does not tell the age of its
// models: they are in its own order.
func (p *Provider) Models(ctx context.Context) ([]provider.ModelInfo, error) {
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

// talks tells models from what else the server lists: those that draw or speak
// generate content as well, and have it in their names.
func (m listed) talks() bool {
	if m.Name == "" || len(m.Methods) > 0 && !slices.Contains(m.Methods, "generateContent") {
		return false
	}
	return !slices.ContainsFunc([]string{"embedding", "-image", "-tts", "-audio", "-live"},
		func(word string) bool { return strings.Contains(m.Name, word) })
}

// info is what the server says, over what the catalogue has.
func (m listed) info(s provider.Server) provider.ModelInfo {
	info, _ := s.Catalog.Lookup(s.Name, strings.TrimPrefix(m.Name, "models/"))
	if m.Title != "" {
		info.Name = m.Title
	}
	if n := wire.Count(m.Input); n > 0 {
		info.Context, info.ContextFrom = n, provider.Source{Name: provider.FromServer}
	}
	if n := wire.Count(m.Output); n > 0 {
		info.MaxOutput = n
	}
	if m.Input > 0 && m.Output > 0 {
		info.Guess = false
	}
	info.Reasoning = info.Reasoning || m.Thinking
	return info
}
