package provider

import (
	"strings"
	"sync"
)

// The window that nearly every model with tools has, and the reply every server
// grants.
const (
	guessContext = 128_000
	guessOutput  = 8_192
)

// own are the models that the lists of catalog.tsv do not have, or have wrong:
// what stands here wins. The sources, all of CatalogDate: the vendors' pages of
// models and prices, in the form in which charm.land/catwalk v0.52.6 gathers
// them, and the references of their APIs for the efforts. Cache writes of
// Anthropic are those of the five-minute cache.
var own = sync.OnceValue(func() []ModelInfo {
	const (
		k = 1_000
		m = 1_000_000
	)
	model := func(provider, id, name string, context, output int, in, out, read, write float64, efforts string) ModelInfo {
		info := ModelInfo{
			ID: id, Provider: provider, Name: name, Context: context, MaxOutput: output,
			Price:  &Price{Input: in, Output: out, CacheRead: read, CacheWrite: write},
			Images: provider != "deepseek", Tools: true, Reasoning: id != "gpt-4.1",
		}
		if efforts != "" {
			info.Efforts = strings.Fields(efforts)
		}
		return info
	}
	const (
		claude   = "low medium high max"
		claude5  = "low medium high xhigh max"
		gpt      = "none low medium high xhigh"
		codex    = "low medium high xhigh"
		gemini   = "minimal low medium high"
		deepseek = "low high max"
	)
	return []ModelInfo{
		model("anthropic", "claude-opus-5", "Claude Opus 5", m, 128*k, 5, 25, 0.5, 6.25, claude5),
		model("anthropic", "claude-opus-4-8", "Claude Opus 4.8", m, 128*k, 5, 25, 0.5, 6.25, claude5),
		model("anthropic", "claude-opus-4-7", "Claude Opus 4.7", m, 128*k, 5, 25, 0.5, 6.25, claude5),
		model("anthropic", "claude-opus-4-6", "Claude Opus 4.6", 200*k, 128*k, 5, 25, 0.5, 6.25, claude),
		model("anthropic", "claude-sonnet-5", "Claude Sonnet 5", m, 128*k, 2, 10, 0.2, 2.5, claude5),
		model("anthropic", "claude-sonnet-4-6", "Claude Sonnet 4.6", 200*k, 128*k, 3, 15, 0.3, 3.75, claude),
		model("anthropic", "claude-haiku-4-5", "Claude Haiku 4.5", 200*k, 64*k, 1, 5, 0.1, 1.25, ""),
		model("anthropic", "claude-mythos-5", "Claude Mythos 5", m, 128*k, 10, 50, 1, 12.5, claude5),
		model("anthropic", "claude-fable-5", "Claude Fable 5", m, 128*k, 10, 50, 1, 12.5, claude5),

		model("openai", "gpt-5.6-sol", "GPT-5.6 Sol", 1050*k, 128*k, 5, 30, 0.5, 6.25, gpt),
		model("openai", "gpt-5.6-terra", "GPT-5.6 Terra", 1050*k, 128*k, 2.5, 15, 0.25, 3.125, gpt),
		model("openai", "gpt-5.6-luna", "GPT-5.6 Luna", 1050*k, 128*k, 1, 6, 0.1, 1.25, gpt),
		model("openai", "gpt-5.5", "GPT-5.5", 1050*k, 128*k, 5, 30, 0.5, 0, gpt),
		model("openai", "gpt-5.4", "GPT-5.4", 1050*k, 128*k, 2.5, 15, 0.25, 0, gpt),
		model("openai", "gpt-5.4-mini", "GPT-5.4 mini", 400*k, 128*k, 0.75, 4.5, 0.075, 0, gpt),
		model("openai", "gpt-5.4-nano", "GPT-5.4 nano", 400*k, 128*k, 0.2, 1.25, 0.02, 0, gpt),
		model("openai", "gpt-5.3-codex", "GPT-5.3 Codex", 400*k, 128*k, 1.75, 14, 0.175, 0, codex),
		model("openai", "gpt-5.2", "GPT-5.2", 400*k, 128*k, 1.75, 14, 0.175, 0, gpt),
		model("openai", "gpt-4.1", "GPT-4.1", 1_047_576, 16_384, 2, 8, 0.5, 0, ""),

		model("gemini", "gemini-3.7-flash", "Gemini 3.7 Flash", 1_048_576, 65_536, 0.75, 3.75, 0.075, 0, gemini),
		model("gemini", "gemini-3.6-flash", "Gemini 3.6 Flash", 1_048_576, 65_536, 1.5, 7.5, 0.15, 0, gemini),
		model("gemini", "gemini-3.1-pro-preview", "Gemini 3.1 Pro", 1_048_576, 64*k, 2, 12, 0.2, 0, gemini),
		model("gemini", "gemini-3.1-pro-preview-customtools", "Gemini 3.1 Pro, own tools", 1_048_576, 64*k, 2,
			12, 0.2, 0, gemini),
		model("gemini", "gemini-3.1-flash-lite", "Gemini 3.1 Flash-Lite", 1_048_576, 65_536, 0.25, 1.5, 0.025, 0, gemini),
		model("gemini", "gemini-2.5-pro", "Gemini 2.5 Pro", 1_048_576, 50*k, 1.25, 10, 0.125, 0, ""),
		model("gemini", "gemini-2.5-flash", "Gemini 2.5 Flash", 1_048_576, 50*k, 0.3, 2.5, 0.03, 0, ""),

		model("deepseek", "deepseek-v4-pro", "DeepSeek V4 Pro", m, 384*k, 0.435, 0.87, 0.003625, 0, deepseek),
		model("deepseek", "deepseek-v4-flash", "DeepSeek V4 Flash", m, 384*k, 0.14, 0.28, 0.0028, 0, deepseek),

		{ID: "demo", Provider: "demo", Name: "the scripted demo", Context: guessContext, MaxOutput: guessOutput,
			Price: new(Price), Tools: true},
	}
})

// byKey finds the models of own by provider/id.
var byKey = sync.OnceValue(func() map[string]ModelInfo {
	m := map[string]ModelInfo{}
	for _, info := range own() {
		m[info.Provider+"/"+info.ID] = info
	}
	return m
})

// guess makes up the facts of a model that is not in the catalogue.
func guess(vendor, id string) ModelInfo {
	info := ModelInfo{Provider: vendor, Context: guessContext, MaxOutput: guessOutput, Tools: true}
	if maker, f := familyOf(id); maker != "" {
		info.MaxOutput, info.Images, info.Reasoning = f.MaxOutput, f.Images, f.Reasoning
		if info.Provider == "" && !f.Open {
			info.Provider = maker
		}
	}
	if info.Provider == "" && seesByName(id) {
		info.Images = true
	}
	info.ID, info.Name, info.Guess = id, id, true
	return info
}

// seesByName knows open models that see by a word of their names: anyone may
// serve them, under nearly any name.
func seesByName(id string) bool {
	id = strings.ToLower(id)
	for _, word := range []string{"llava", "vision", "pixtral", "moondream", "internvl", "minicpm-v", "-vl",
		"2vl", "2.5vl", "3vl"} {
		if strings.Contains(id, word) {
			return true
		}
	}
	return false
}
