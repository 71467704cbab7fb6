package openai

import (
	"encoding/json"
	"strings"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// usage is Chat Completions' count. prompt_tokens includes tokens from the cache.
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

type timings struct {
	Cached    int `json:"cache_n"`
	Prompt    int `json:"prompt_n"`
	Predicted int `json:"predicted_n"`
}

func (t *timings) usage() *usage {
	return &usage{Prompt: t.Cached + t.Prompt, Completion: t.Predicted, CacheHit: t.Cached}
}

// count takes the newest numbers: they grow.
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

// detail is a piece of OpenRouter's reasoning_details, fields as they came.
type detail map[string]json.RawMessage

// details joins the pieces of each detail, so that they can be sent back.
type details struct {
	list []*joined
	size int // total bytes of all pieces
}

type joined struct {
	fields detail
	key    string // the field that grows
	text   strings.Builder
}

// grows names the field that comes in pieces, by the type of the detail.
func (d detail) grows() string {
	switch plain(d["type"]) {
	case "reasoning.text":
		return "text"
	case "reasoning.summary":
		return "summary"
	case "reasoning.encrypted":
		return "data"
	}
	return ""
}

func (l *details) add(d detail) {
	key := d.grows()
	piece := plain(d[key])
	for name, value := range d {
		l.size += len(name) + len(value)
	}
	if n := len(l.list); n > 0 && l.list[n-1].takes(d, key) {
		last := l.list[n-1]
		last.text.WriteString(piece)
		for name, value := range d {
			if have, ok := last.fields[name]; name != key && (!ok || !wire.Present(have)) {
				last.fields[name] = value
			}
		}
		return
	}
	j := &joined{fields: d, key: key}
	j.text.WriteString(piece)
	l.list = append(l.list, j)
}

// takes reports whether d is a further piece of j. An encrypted detail comes whole.
func (j *joined) takes(d detail, key string) bool {
	if key == "" || key == "data" || key != j.key || string(d["index"]) != string(j.fields["index"]) {
		return false
	}
	id, have := plain(d["id"]), plain(j.fields["id"])
	return id == "" || have == "" || id == have
}

// marshal is the joined list, or "".
func (l *details) marshal() (string, error) {
	if len(l.list) == 0 {
		return "", nil
	}
	all := make([]detail, len(l.list))
	for i, j := range l.list {
		all[i] = j.fields
		if j.key == "" || j.text.Len() == 0 {
			continue
		}
		text, err := provider.Marshal(j.text.String())
		if err != nil {
			return "", err
		}
		all[i][j.key] = text
	}
	out, err := provider.Marshal(all)
	return string(out), err
}
