package openai

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

// Responses asks OpenAI's models through the Responses API. Nothing is stored
// at the server: each request brings the whole history, the model's encrypted
// reasoning included. The zero value of every field but Name has a meaning; the
// fields must not change once it is in use. It may be used by several
// goroutines, and must not be copied.
type Responses struct {
	provider.Server // BaseURL up to /v1, or /responses behind it

	learned wire.Memory
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
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server}, API: wire.Responses, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) {
			return wire.Ask(ctx, p.Server, p.Base(), provider.AuthBearer, "responses")
		},
		Encode: func(l wire.Learned, _ http.Header) ([]byte, error) { return encodeResponses(p.Name, req, l) },
		Decoder: func() wire.Decoder {
			return &responsesDecoder{Reply: wire.ReplyTo(p.Name, req), most: outputTokens(req)}
		},
	})
}
