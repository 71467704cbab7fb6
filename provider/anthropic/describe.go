package anthropic

import (
	"context"
	"net/url"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

var _ provider.Describer = (*Provider)(nil)

// Describe implements provider.Describer by the server's list of models: a server
// of one's own, such as llama.cpp's, gives a model the window it was started with.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		r, err := p.requestBelow(ctx, base, path...)
		if err == nil && path[len(path)-1] == "models" {
			r.URL, err = wire.Query(r.URL, url.Values{"limit": {"1000"}}) // else the API lists twenty
		}
		return r, err
	}
	return p.facts.Describe(ctx, listing.Server{Endpoint: p.endpoint(), Base: p.Base(), Models: []string{"v1", "models"}, Ask: ask}, model)
}
