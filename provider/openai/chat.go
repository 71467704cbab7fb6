// Package openai speaks the two wires of OpenAI: Chat Completions, which nearly
// every other server offers too, and Responses, which OpenAI's own models are
// asked through.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

// Chat asks models through Chat Completions. Its fields must not change once it is in use; several
// goroutines may use it; it must not be copied. A field that a server refuses is left out or changed from
// then on and the request sent again, with a Notice where something is lost.
type Chat struct {
	provider.Server // BaseURL up to /v1 where the server has one

	Quirks Quirks // see QuirksFor

	learned wire.Memory
	facts   listing.Facts
}

var _ provider.Structurer = (*Chat)(nil)

// Structures implements provider.Structurer.
func (p *Chat) Structures(req provider.Request) bool {
	return p.Quirks.format(req, p.learned.Of(req.Model)) != nil
}

// Stream implements provider.Provider.
func (p *Chat) Stream(ctx context.Context, req provider.Request) iter.Seq2[provider.Event, error] {
	var dec *decoder // the last try's
	return wire.RetryAdapted(ctx, wire.Exchange{
		Endpoint: wire.Endpoint{Server: p.Server}, API: wire.Chat, Request: req, Memory: &p.learned,
		Prepare: func(ctx context.Context) (wire.Request, error) {
			return wire.Ask(ctx, p.Server, p.Base(), provider.AuthBearer, "chat", "completions")
		},
		Encode: func(l wire.Learned, _ http.Header) ([]byte, error) { return encode(p.Name, p.Quirks, req, l) },
		Decoder: func() wire.Decoder {
			dec = &decoder{Reply: wire.ReplyTo(p.Name, req), quirks: p.Quirks, fields: p.Quirks.reasoningFields()}
			return dec
		},
		Failed: func(e *provider.Error) (provider.Event, error) {
			if bad, ok := errors.AsType[wire.BadCall](e); ok && bad != "" {
				return dec.Unreadable(e, string(bad), req.Tools), nil
			}
			return nil, e
		},
	})
}
