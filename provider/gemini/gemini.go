// Package gemini speaks the generateContent API of Google's Gemini models.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Provider asks models through streamGenerateContent. Its fields must not change once it is
// in use; several goroutines may use it. A field that a server refuses outright is left out from
// then on and the request sent again, with a Notice where something is lost.
type Provider struct {
	// BaseURL may end in /v1beta. With AuthGoogle it is that of a project's location in Vertex.
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
		Endpoint: wire.Endpoint{Server: p.Server}, API: wire.Gemini, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) { return p.prepare(ctx, req.Model) },
		Encode: func(l wire.Learned, _ http.Header) ([]byte, error) {
			if p.vertex() {
				l.Omitted |= wire.CallIDs // it refuses them
			}
			return encode(p.Name, req, l)
		},
		Decoder: func() wire.Decoder { return &decoder{Reply: wire.ReplyTo(p.Name, req)} },
	})
}

// prepare makes the request. Without alt=sse one JSON array would come.
func (p *Provider) prepare(ctx context.Context, model string) (wire.Request, error) {
	kind, name := kindOf(model)
	path := []string{"v1beta", kind}
	if p.vertex() {
		if path = []string{kind}; kind == "models" {
			path = []string{"publishers", "google", "models"}
		}
	}
	return p.request(ctx, url.Values{"alt": {"sse"}}, append(path, url.PathEscape(name)+":streamGenerateContent")...)
}

// vertex reports whether the models are those of a Google Cloud project.
func (p *Provider) vertex() bool { return p.Auth == provider.AuthGoogle }

// kindOf takes a name apart: models/x as the API lists them, tunedModels/x, Vertex's endpoints/x, or x alone.
func kindOf(model string) (kind, name string) {
	kind, name, found := strings.Cut(model, "/")
	if !found {
		return "models", model
	}
	return kind, name
}

// request is one to the given end of the API, a GET as long as it has no body.
func (p *Provider) request(ctx context.Context, query url.Values, path ...string) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, p.Base(), provider.AuthGoogAPIKey, path...)
	if err == nil && query != nil {
		r.URL, err = wire.Query(r.URL, query)
	}
	return r, err
}
