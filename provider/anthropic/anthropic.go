// Package anthropic speaks the Messages API, of Anthropic itself and of the
// servers that offer the same (llama.cpp, DeepSeek, gateways).
package anthropic

import (
	"context"
	"iter"
	"net/http"
	"net/url"

	"artoo/provider"
	"artoo/provider/internal/claude"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// version is the API version that the Messages API demands.
const version = "2023-06-01"

// Provider asks models through the Messages API. Its fields must not change once it is in
// use; several goroutines may use it; it must not be copied. A field that a model refuses is left
// out from then on and the request sent again, with a Notice where something is lost.
type Provider struct {
	// BaseURL may end in /v1; with AuthGoogle it is that of a project's location in Vertex. Headers may switch betas
	// on: the wire adds its own to these.
	provider.Server

	learned wire.Memory
	facts   listing.Facts
}

var _ provider.Structurer = (*Provider)(nil)

// Structures implements provider.Structurer.
func (p *Provider) Structures(req provider.Request) bool {
	return format(req, p.learned.Of(req.Model)) != nil
}

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server}, API: wire.Messages, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) {
			if p.vertex() {
				return p.request(ctx, nil, p.Base(), "publishers", "anthropic", "models", url.PathEscape(req.Model)+":streamRawPredict")
			}
			return p.request(ctx, nil, p.Base(), "v1", "messages")
		},
		Encode:  func(l wire.Learned, h http.Header) ([]byte, error) { return encode(p.Server, req, l, h) },
		Decoder: func() wire.Decoder { return &decoder{Reply: wire.ReplyTo(p.Name, req)} },
		Failed:  hinted,
	})
}

// hinted explains a rate limit without a time: only the monthly cap of a tier has none.
func hinted(e *provider.Error) (provider.Event, error) {
	if e.Status == http.StatusTooManyRequests && e.Kind == provider.KindRateLimit && e.RetryAfter == 0 && e.Hint == "" {
		e.Hint = "again in a few minutes, or choose another model with --model; if this persists, the spend limit of your plan is reached"
	}
	return nil, e
}

// vertex reports whether the models are those of a Google Cloud project.
func (p *Provider) vertex() bool { return p.Auth == provider.AuthGoogle }

func (p *Provider) request(ctx context.Context, query url.Values, base string, path ...string) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, base, provider.AuthXAPIKey, path...)
	if err != nil {
		return r, err
	}
	if r.Header.Get("Anthropic-Version") == "" && !p.vertex() { // there the body has it
		r.Header.Set("Anthropic-Version", version)
	}
	if len(query) > 0 {
		r.URL, err = wire.Query(r.URL, query)
	}
	return r, err
}

var (
	_ provider.Lister    = (*Provider)(nil)
	_ provider.Describer = (*Provider)(nil)
)

// pageSize is the most models that the API puts into a page, twenty by itself.
const pageSize = "1000"

// Models implements provider.Lister.
func (p *Provider) Models(ctx context.Context) (list []provider.ModelInfo, err error) {
	if p.vertex() {
		return listing.Vertex(ctx, p.Server, provider.WireMessages, claude.Is)
	}
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

// Describe implements provider.Describer by the server's list of models.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	if p.vertex() { // its descriptions have no window
		info, _ := p.Catalog.Lookup(p.Name, model)
		return info, nil
	}
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
