// Package gemini speaks the generateContent API of Google's Gemini models.
package gemini

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// DefaultBaseURL is Google's own server.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Provider asks models through streamGenerateContent. The zero value of every
// field but Name has a meaning; the fields must not change once it is in use. It
// may be used by several goroutines.
//
// What a server refuses outright (the schema of one tool, a way to think, a
// signature) is left out from then on and the request sent again: nothing was
// answered yet, so that nobody sees it but for a Notice where something is lost.
type Provider struct {
	Name    string // the configured name; signatures go back only to messages of the same name and model
	BaseURL string // with or without /v1beta; "" means DefaultBaseURL
	// Key is asked before each request, inside its time limits; nil, or an
	// empty key, sends none. It goes into a header, never into the address.
	Key  func(context.Context) (string, error)
	HTTP *http.Client // nil means http.DefaultClient; redirects are not followed
	// Headers are sent with each request and win over the wire's own.
	Headers map[string]string
	// Idle is the longest silence between two bytes, twice as long before the
	// first. 0 means 5 minutes, or no limit for a Local server; negative, none.
	Idle           time.Duration
	RequestTimeout time.Duration // the whole of one request; 0 means no limit
	Local          bool          // the server is on a loopback or private address
	// Setting is what names BaseURL, for hints: a variable, or a place in a file.
	Setting string

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
	return wire.Endpoint{Provider: p.Name, HTTP: p.HTTP, Idle: p.Idle, RequestTimeout: p.RequestTimeout, Local: p.Local, Setting: p.Setting}
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
	base := p.BaseURL
	if base == "" {
		base = DefaultBaseURL
	}
	address, err := wire.Join(base, path...)
	if err != nil {
		return wire.Request{}, err
	}
	if address, err = wire.Query(address, query); err != nil {
		return wire.Request{}, err
	}
	key, err := wire.Key(ctx, p.Key)
	if err != nil {
		return wire.Request{}, err
	}
	h := http.Header{}
	if key != "" {
		h.Set("X-Goog-Api-Key", key)
	}
	for k, v := range p.Headers {
		h.Set(k, v)
	}
	return wire.Request{URL: address, Header: h, Secret: key}, nil
}
