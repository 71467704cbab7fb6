// Package openai speaks the two wires of OpenAI: Chat Completions, which nearly
// every other server offers too, and Responses, which OpenAI's own models are
// asked through.
package openai

import (
	"context"
	"errors"
	"iter"
	"sync"

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
	provider.Server // BaseURL up to /v1 where the server has one

	Quirks Quirks // see QuirksFor

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
	return wire.Endpoint{Server: p.Server}
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

// request is a request to a path of the API, without a body.
func (p *Chat) request(ctx context.Context, path ...string) (wire.Request, error) {
	return wire.Ask(ctx, p.Server, p.Base(), wire.Bearer, path...)
}
