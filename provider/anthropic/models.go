package anthropic

import (
	"context"
	"net/url"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

var (
	_ provider.Lister    = (*Provider)(nil)
	_ provider.Describer = (*Provider)(nil)
)

// pageSize is the most models that the API puts into a page, twenty by itself.
const pageSize = "1000"

// Models implements provider.Lister.
func (p *Provider) Models(ctx context.Context) (list []provider.ModelInfo, err error) {
	request := func(after string) (wire.Request, error) {
		query := url.Values{"limit": {pageSize}}
		if after != "" {
			query.Set("after_id", after)
		}
		return p.request(ctx, query, p.Base(), "v1", "models")
	}
	err = wire.Pages(ctx, p.Server, request, func(page listing.Page) string {
		for _, m := range page.Data {
			if m.ID != "" {
				list = append(list, m.Info(p.Server))
			}
		}
		if !page.HasMore {
			return ""
		}
		return page.LastID
	})
	return list, err
}

// Describe implements provider.Describer by the server's list of models: a server
// of one's own, such as llama.cpp's, gives a model the window it was started with.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		query := url.Values{}
		if path[len(path)-1] == "models" {
			query.Set("limit", pageSize)
		}
		return p.request(ctx, query, base, path...)
	}
	from := listing.Source{Server: p.Server, Base: p.Base(), Models: []string{"v1", "models"}, Ask: ask}
	return p.facts.Describe(ctx, from, model)
}
