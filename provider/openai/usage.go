package openai

import (
	"artoo/provider"
	"artoo/provider/internal/wire"
)

// usage is Chat Completions' count, with the fields some servers add.
// prompt_tokens includes what came from the cache.
type usage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails *struct {
		Cached     int `json:"cached_tokens"`
		CacheWrite int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails *struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	CacheHit int      `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cost     *float64 `json:"cost"`                    // OpenRouter, US dollars
}

// timings is llama.cpp's own count, in every last chunk.
type timings struct {
	Cached    int `json:"cache_n"`
	Prompt    int `json:"prompt_n"`
	Predicted int `json:"predicted_n"`
}

func (t *timings) usage() *usage {
	return &usage{Prompt: t.Cached + t.Prompt, Completion: t.Predicted, CacheHit: t.Cached}
}

// count takes the newest numbers: where a server sends usage more than once, it
// grows.
func (d *decoder) count(u *usage) {
	if u == nil || u.Prompt == 0 && u.Completion == 0 && u.Total == 0 {
		return
	}
	out := provider.Usage{Output: wire.Count(u.Completion), CacheRead: wire.Count(u.CacheHit)}
	if u.PromptDetails != nil {
		out.CacheRead = max(out.CacheRead, wire.Count(u.PromptDetails.Cached))
		out.CacheWrite = wire.Count(u.PromptDetails.CacheWrite)
	}
	out.Input = max(0, wire.Count(u.Prompt)-out.CacheRead-out.CacheWrite)
	if u.CompletionDetails != nil {
		out.Reasoning = wire.Count(u.CompletionDetails.Reasoning)
		// xAI counts the reasoning beside the completion, not in it.
		if out.Reasoning > 0 && u.Total == u.Prompt+u.Completion+out.Reasoning {
			out.Output += out.Reasoning
		}
	}
	if d.quirks.UsageInclude {
		out.CostUSD = u.Cost
	}
	d.Usage = out
}
