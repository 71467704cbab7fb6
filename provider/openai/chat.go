// Package openai speaks the two wires of OpenAI: Chat Completions, which nearly
// every other server offers too, and Responses, which OpenAI's own models are
// asked through.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Chat asks models through Chat Completions. The zero value of every field but
// Name has a meaning; the fields must not change once it is in use. It may be
// used by several goroutines, and must not be copied.
//
// What a server turns out to refuse (a field, a role, a long reply) is left out
// or sent in the other form from then on and the request sent again, with a
// Notice where something is lost.
type Chat struct {
	Name    string // the configured name; reasoning goes back only to messages of the same name and model
	BaseURL string // up to /v1 where the server has one; "" means Quirks.BaseURL
	// Key is asked before each request, inside its time limits; nil, or an
	// empty key, sends none.
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
	Quirks  Quirks // see QuirksFor

	mu      sync.Mutex
	lessons map[string]lessons // by model
	facts   listing.Facts
}

var _ provider.Provider = (*Chat)(nil)

// Stream implements provider.Provider.
func (p *Chat) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	e := p.endpoint()
	var l lessons    // of the last try
	var dec *decoder // too
	send := func() iter.Seq2[provider.Event, error] {
		l = p.learned(req.Model)
		prepare := func(ctx context.Context) (wire.Request, error) { return p.prepare(ctx, req, l) }
		dec = &decoder{provider: p.Name, model: req.Model, history: req.Messages, quirks: p.Quirks, fields: p.Quirks.reasoningFields()}
		return wire.Stream(ctx, e, prepare, dec)
	}
	events := wire.Again(send, func(err *provider.Error) (bool, string) { return p.learn(err, req, l) })
	return func(yield func(provider.Event, error) bool) {
		for ev, err := range events {
			if bad, ok := errors.AsType[wire.BadCall](err); ok && bad != "" {
				yield(dec.unreadable(provider.AsError(err), string(bad), req.Tools), nil)
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

func (p *Chat) endpoint() wire.Endpoint {
	return wire.Endpoint{Provider: p.Name, HTTP: p.HTTP, Idle: p.Idle, RequestTimeout: p.RequestTimeout, Local: p.Local, Setting: p.Setting}
}

func (p *Chat) prepare(ctx context.Context, req provider.Request, l lessons) (wire.Request, error) {
	r, err := p.request(ctx, "chat", "completions")
	if err != nil {
		return wire.Request{}, err
	}
	r.Model = req.Model
	if r.Body, err = encode(p.Name, p.Quirks, req, l); err != nil {
		return wire.Request{}, &provider.Error{Kind: provider.KindInvalid, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	return r, nil
}

func (p *Chat) base() string {
	if p.BaseURL == "" {
		return p.Quirks.BaseURL
	}
	return p.BaseURL
}

// request is a request to a path of the API, without a body.
func (p *Chat) request(ctx context.Context, path ...string) (wire.Request, error) {
	base := p.base()
	if base == "" {
		// Nothing is guessed: a key must not reach another vendor's server.
		return wire.Request{}, &provider.Error{Kind: provider.KindConfig, Message: "no address is known for this provider",
			Hint: "ARTOO_BASE_URL=http://host:port/v1, or base_url under [provider." + p.Name + "] in config.toml"}
	}
	return request(ctx, base, p.Key, p.Headers, path...)
}

// request is a request to a path below an address, without a body.
func request(ctx context.Context, base string, key func(context.Context) (string, error), headers map[string]string, path ...string) (wire.Request, error) {
	address, err := wire.Join(base, path...)
	if err != nil {
		return wire.Request{}, err
	}
	secret, err := wire.Key(ctx, key)
	if err != nil {
		return wire.Request{}, err
	}
	h := http.Header{}
	if secret != "" {
		h.Set("Authorization", "Bearer "+secret)
	}
	for k, v := range headers {
		h.Set(k, v)
	}
	return wire.Request{URL: address, Header: h, Secret: secret}, nil
}
