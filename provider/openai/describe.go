package openai

import (
	"context"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

var (
	_ provider.Describer = (*Chat)(nil)
	_ provider.Describer = (*Responses)(nil)
)

// Describe implements provider.Describer by the server's list of models.
func (p *Chat) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	base := p.base()
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		if base == "" {
			return p.request(ctx, path...) // which says that there is no address
		}
		return request(ctx, base, p.Key, p.Headers, path...)
	}
	return p.facts.Describe(ctx, listing.Server{Endpoint: p.endpoint(), Base: base, Models: []string{"models"}, Ask: ask}, model)
}

// Describe implements provider.Describer by the server's list of models.
func (p *Responses) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		return request(ctx, base, p.Key, p.Headers, path...)
	}
	return p.facts.Describe(ctx, listing.Server{Endpoint: p.endpoint(), Base: p.list(), Models: []string{"models"}, Ask: ask}, model)
}

// list is the address that the list of models stands below.
func (p *Responses) list() string {
	return strings.TrimSuffix(strings.TrimRight(p.base(), "/"), "/responses")
}
