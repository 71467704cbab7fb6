package gemini

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Lister = (*Provider)(nil)

// maxPages ends a list that never does.
const maxPages = 20

// modelPage is a page of GET /v1beta/models. A field that a server leaves out
// says nothing.
type modelPage struct {
	Models []struct {
		Name     string   `json:"name"` // models/ID
		Title    string   `json:"displayName"`
		Input    int      `json:"inputTokenLimit"`
		Output   int      `json:"outputTokenLimit"`
		Methods  []string `json:"supportedGenerationMethods"`
		Thinking *bool    `json:"thinking"`
	} `json:"models"`
	Next string `json:"nextPageToken"`
}

// Models implements provider.Lister.
func (p *Provider) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	var list []provider.ModelInfo
	token := ""
	for range maxPages {
		page, err := p.modelPage(ctx, token)
		if err != nil {
			return nil, err
		}
		for _, m := range page.Models {
			id := strings.TrimPrefix(m.Name, "models/")
			if id == "" || m.Methods != nil && !slices.Contains(m.Methods, "generateContent") || !talks(id) {
				continue
			}
			info, _ := provider.Lookup(p.Name, id)
			if m.Title != "" {
				info.Name = m.Title
			}
			if n := wire.Count(m.Input); n > 0 {
				info.Context = n
			}
			if n := wire.Count(m.Output); n > 0 {
				info.MaxOutput = n
			}
			if m.Input > 0 && m.Output > 0 {
				info.Guess = false
			}
			if m.Thinking != nil {
				info.Reasoning = *m.Thinking
			}
			list = append(list, info)
		}
		if page.Next == "" || page.Next == token {
			break
		}
		token = page.Next
	}
	return list, nil
}

// talks leaves out the models that answer with sounds, pictures or vectors.
func talks(id string) bool {
	for _, word := range []string{"embedding", "-tts", "-image", "-audio", "-live"} {
		if strings.Contains(id, word) {
			return false
		}
	}
	return true
}

func (p *Provider) modelPage(ctx context.Context, token string) (page modelPage, err error) {
	e := p.endpoint()
	e.RequestTimeout = provider.ListTimeout
	r, err := p.request(ctx, "models")
	if err != nil {
		return page, wire.Named(err, e)
	}
	query := url.Values{"pageSize": {"1000"}}
	if token != "" {
		query.Set("pageToken", token)
	}
	if r.URL, err = wire.Query(r.URL, query); err != nil {
		return page, wire.Named(err, e)
	}
	data, err := wire.Fetch(ctx, e, r)
	if err != nil {
		return page, err
	}
	if err := wire.Decode(data, &page); err != nil {
		return page, &provider.Error{Kind: provider.KindProvider, Provider: p.Name, Local: p.Local,
			Message: fmt.Sprintf("the list of models makes no sense: %v", err), Err: err}
	}
	return page, nil
}
