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
	return list(ctx, p.Server)
}

// Models implements provider.Lister.
func (p *Responses) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	return list(ctx, p.Server)
}

// Describe implements provider.Describer by the server's list of models.
func (p *Chat) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return p.facts.Describe(ctx, source(p.Server), model)
}

// Describe implements provider.Describer by the server's list of models.
func (p *Responses) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	return p.facts.Describe(ctx, source(p.Server), model)
}

// source is where the server's models are listed: beside /responses, if the address ends so.
func source(s provider.Server) listing.Source {
	base := strings.TrimSuffix(strings.TrimRight(s.Base(), "/"), "/responses")
	ask := func(ctx context.Context, base string, path ...string) (wire.Request, error) {
		return wire.Ask(ctx, s, base, provider.AuthBearer, path...)
	}
	return listing.Source{Server: s, Base: base, Models: []string{"models"}, Ask: ask}
}

func list(ctx context.Context, s provider.Server) ([]provider.ModelInfo, error) {
	all, err := source(s).Fetch(ctx)
	var models []provider.ModelInfo
	for _, m := range all {
		if talks(m, s.Name) {
			models = append(models, m.Info(s))
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
