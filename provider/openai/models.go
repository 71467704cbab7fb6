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
	_ provider.Lister    = (*Chat)(nil)
	_ provider.Lister    = (*Responses)(nil)
	_ provider.Describer = (*Chat)(nil)
	_ provider.Describer = (*Responses)(nil)
)

// Models implements provider.Lister.
func (p *Chat) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	return list(ctx, source(p.Server, p.Base()))
}

// Models implements provider.Lister.
func (p *Responses) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	return list(ctx, p.source())
}

// Describe implements provider.Describer by the server's list of models.
func (p *Chat) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return p.facts.Describe(ctx, source(p.Server, p.Base()), model)
}

// Describe implements provider.Describer by the server's list of models.
func (p *Responses) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return p.facts.Describe(ctx, p.source(), model)
}

func (p *Responses) source() listing.Source {
	return source(p.Server, strings.TrimSuffix(strings.TrimRight(p.Base(), "/"), "/responses"))
}

func source(s provider.Server, base string) listing.Source {
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		return wire.Ask(ctx, s, base, provider.AuthBearer, path...)
	}
	return listing.Source{Server: s, Base: base, Models: []string{"models"}, Ask: ask}
}

func list(ctx context.Context, from listing.Source) ([]provider.ModelInfo, error) {
	all, err := from.Fetch(ctx)
	var models []provider.ModelInfo
	for _, m := range all {
		if talks(m, from.Name) {
			models = append(models, m.Info(from.Server))
		}
	}
	return models, err
}

// talks excludes OpenAI's models for images, speech and vectors by their names.
func talks(m listing.Model, name string) bool {
	if len(m.Architecture.Output) > 0 && !slices.Contains(m.Architecture.Output, "text") {
		return false
	}
	if name != "openai" {
		return true
	}
	for _, word := range []string{"embedding", "tts", "whisper", "dall-e", "image", "moderation", "realtime", "audio",
		"transcribe", "sora", "davinci", "babbage", "instruct"} {
		if strings.Contains(m.ID, word) {
			return false
		}
	}
	return true
}
