package gemini

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Describer = (*Provider)(nil)

// describeTimeout is how long a description may take: a message waits for it.
const describeTimeout = 3 * time.Second

// Describe implements provider.Describer, with the server's own description of the
// model. Where it has none, or says nothing in time, Guess stays true and is no error;
// a server that cannot be reached, or refuses the key, is one.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	if info, ok := p.described.Load(model); ok {
		return info.(provider.ModelInfo), nil
	}
	info, _ := p.Catalog.Lookup(p.Name, strings.TrimPrefix(model, "models/"))
	info.ID = model
	kind, name := kindOf(model)
	r, err := p.request(ctx, nil, "v1beta", kind, url.PathEscape(name))
	if err != nil {
		return info, err
	}
	server := p.Server
	server.RequestTimeout = describeTimeout
	data, err := wire.Fetch(ctx, server, r)
	if e := provider.AsError(err); e != nil {
		switch {
		case e.Kind == provider.KindAuth, e.Status == 0 && e.Kind != provider.KindTimeout && e.Kind != provider.KindProvider:
			return info, err
		case e.Status == http.StatusNotFound: // it will not say more later
			p.described.Store(model, info)
		}
		return info, nil
	}
	var found listed
	if err := wire.Decode(data, &found); err != nil {
		return info, nil // a proxy, perhaps, which describes nothing
	}
	found.Name = model
	info = found.info(p.Server)
	info.ID = model
	p.described.Store(model, info)
	return info, nil
}
