// Package gemini speaks the generateContent API of Google's Gemini models.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// Provider asks models through streamGenerateContent. The zero value of every
// field but Name has a meaning; the fields must not change once it is in use. It
// may be used by several goroutines.
//
// What a server refuses outright (the schema of one tool, a way to think, a
// signature) is left out from then on and the request sent again: nothing was
// answered yet, so that nobody sees it but for a Notice where something is lost.
type Provider struct {
	provider.Server // BaseURL with or without /v1beta

	refused refused
}

var _ provider.Provider = (*Provider)(nil)

// Stream implements provider.Provider.
func (p *Provider) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	e := p.endpoint()
	var l limits // of the last try
	send := func() iter.Seq2[provider.Event, error] {
		l = p.refused.of(req.Model)
		prepare := func(ctx context.Context) (wire.Request, error) { return p.prepare(ctx, req, l) }
		return wire.Stream(ctx, e, prepare, &decoder{provider: p.Name, model: req.Model, history: req.Messages})
	}
	return wire.Again(send, func(e *provider.Error) (bool, string) { return p.refused.learn(e, p.Name, req, l) })
}

func (p *Provider) endpoint() wire.Endpoint {
	return wire.Endpoint{Server: p.Server}
}

// prepare makes the request to a model. Without alt=sse the server would send one
// JSON array, of which nothing can be shown before its end.
func (p *Provider) prepare(ctx context.Context, req provider.Request, limits limits) (wire.Request, error) {
	kind, name, found := strings.Cut(req.Model, "/") // models/x as the API lists them, tunedModels/x
	if !found {
		kind, name = "models", req.Model
	}
	r, err := p.request(ctx, url.Values{"alt": {"sse"}}, "v1beta", kind, url.PathEscape(name)+":streamGenerateContent")
	if err != nil {
		return wire.Request{}, err
	}
	r.Model = req.Model
	if r.Body, err = encode(p.Name, req, limits); err != nil {
		return wire.Request{}, &provider.Error{Kind: provider.KindInvalid, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	return r, nil
}

// request is one to the given end of the API, a GET as long as it has no body.
func (p *Provider) request(ctx context.Context, query url.Values, path ...string) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, p.Base(), func(h http.Header, key string) {
		if key != "" {
			h.Set("X-Goog-Api-Key", key)
		}
	}, path...)
	if err == nil {
		r.URL, err = wire.Query(r.URL, query)
	}
	return r, err
}
