package openai

import (
	"context"
	"iter"
	"net/url"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Responses asks OpenAI's models through the Responses API. Nothing is stored
// at the server: each request brings the whole history, the model's encrypted
// reasoning included. The zero value of every field but Name has a meaning; the
// fields must not change once it is in use. It may be used by several
// goroutines, and must not be copied.
type Responses struct {
	provider.Server // BaseURL up to /v1, or /responses behind it

	mu      sync.Mutex
	refused map[string]fields // by model: what the server said it does not take
	dead    map[string]bool   // reasoning items that the server does not take any more, as they came
	facts   listing.Facts
}

var _ provider.Provider = (*Responses)(nil)

// SpeaksResponses reports whether the server at address is asked through the
// Responses API: OpenAI itself, which "" stands for, and any other whose address
// ends in /responses. The rest of the world speaks Chat Completions.
func SpeaksResponses(address string) bool {
	if address == "" {
		return true
	}
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".api.openai.com") || // the latter are its regions
		strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/responses")
}

// Stream implements provider.Provider.
func (p *Responses) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	e := p.endpoint()
	var without limits // of the last try
	send := func() iter.Seq2[provider.Event, error] {
		without = p.without(req.Model)
		prepare := func(ctx context.Context) (wire.Request, error) { return p.prepare(ctx, req, without) }
		return wire.Stream(ctx, e, prepare, &responsesDecoder{provider: p.Name, model: req.Model, history: req.Messages, most: outputTokens(req)})
	}
	return wire.Again(send, func(e *provider.Error) (bool, string) { return p.learn(e, req, without) })
}

func (p *Responses) endpoint() wire.Endpoint {
	return wire.Endpoint{Server: p.Server}
}

func (p *Responses) prepare(ctx context.Context, req provider.Request, without limits) (wire.Request, error) {
	r, err := wire.Ask(ctx, p.Server, p.Base(), wire.Bearer, "responses")
	if err != nil {
		return wire.Request{}, err
	}
	r.Model = req.Model
	if r.Body, err = encodeResponses(p.Name, req, without); err != nil {
		return wire.Request{}, &provider.Error{Kind: provider.KindInvalid, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	return r, nil
}
