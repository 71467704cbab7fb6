package openai

import (
	"context"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

var (
	_ provider.Lister = (*Chat)(nil)
	_ provider.Lister = (*Responses)(nil)
)

// Models implements provider.Lister.
func (p *Chat) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	r, err := p.request(ctx, "models")
	if err != nil {
		return nil, wire.Named(err, p.endpoint())
	}
	return list(ctx, p.endpoint(), r)
}

// Models implements provider.Lister.
func (p *Responses) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	r, err := wire.Ask(ctx, p.Server, p.list(), wire.Bearer, "models")
	if err != nil {
		return nil, wire.Named(err, p.endpoint())
	}
	return list(ctx, p.endpoint(), r)
}

func list(ctx context.Context, e wire.Endpoint, r wire.Request) ([]provider.ModelInfo, error) {
	e.RequestTimeout = provider.ListTimeout
	all, err := listing.Fetch(ctx, e, r)
	var models []provider.ModelInfo
	for _, m := range all {
		if talks(m, e.Name) {
			models = append(models, m.Info(e.Name))
		}
	}
	return models, err
}

// talks tells models from what else a server lists: OpenAI's that make pictures,
// speech or vectors have it in their names.
func talks(m listing.Model, name string) bool {
	if len(m.Architecture.Output) > 0 && !slices.Contains(m.Architecture.Output, "text") {
		return false
	}
	if name != "openai" {
		return true
	}
	for _, word := range []string{"embedding", "tts", "whisper", "dall-e", "image", "moderation", "realtime", "audio", "transcribe", "sora", "davinci", "babbage", "instruct"} {
		if strings.Contains(m.ID, word) {
			return false
		}
	}
	return true
}
