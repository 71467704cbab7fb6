package openai

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// responsesBase is OpenAI's own address.
const responsesBase = "https://api.openai.com/v1"

// Responses asks OpenAI's models through the Responses API. Nothing is stored
// at the server: each request brings the whole history, the model's encrypted
// reasoning included. The zero value of every field but Name has a meaning; the
// fields must not change once it is in use. It may be used by several
// goroutines, and must not be copied.
type Responses struct {
	Name    string // the configured name; reasoning goes back only to messages of the same name and model
	BaseURL string // up to /v1; "" means OpenAI's own
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
	return wire.Endpoint{Provider: p.Name, HTTP: p.HTTP, Idle: p.Idle, RequestTimeout: p.RequestTimeout, Local: p.Local, Setting: p.Setting}
}

func (p *Responses) base() string {
	if p.BaseURL == "" {
		return responsesBase
	}
	return p.BaseURL
}

func (p *Responses) prepare(ctx context.Context, req provider.Request, without limits) (wire.Request, error) {
	r, err := request(ctx, p.base(), p.Key, p.Headers, "responses")
	if err != nil {
		return wire.Request{}, err
	}
	r.Model = req.Model
	if r.Body, err = encodeResponses(p.Name, req, without); err != nil {
		return wire.Request{}, &provider.Error{Kind: provider.KindInvalid, Message: "the request cannot be encoded: " + err.Error(), Err: err}
	}
	return r, nil
}
