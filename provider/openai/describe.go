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
	return describe(ctx, &p.facts, p.endpoint(), p.Base(), model)
}

// Describe implements provider.Describer by the server's list of models.
func (p *Responses) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return describe(ctx, &p.facts, p.endpoint(), p.list(), model)
}

func describe(ctx context.Context, facts *listing.Facts, e wire.Endpoint, base, model string) (provider.ModelInfo, error) {
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		return wire.Ask(ctx, e.Server, base, wire.Bearer, path...)
	}
	return facts.Describe(ctx, listing.Server{Endpoint: e, Base: base, Models: []string{"models"}, Ask: ask}, model)
}

// list is the address that the list of models stands below.
func (p *Responses) list() string {
	return strings.TrimSuffix(strings.TrimRight(p.Base(), "/"), "/responses")
}
