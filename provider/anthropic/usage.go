package anthropic

import "artoo/provider/internal/wire"

// usage is the API's count. Its numbers are cumulative; any may be absent or
// null in a later event, which leaves the earlier one standing. input_tokens
// excludes what the cache holds.
type usage struct {
	Input         *int `json:"input_tokens"`
	CacheRead     *int `json:"cache_read_input_tokens"`
	CacheWrite    *int `json:"cache_creation_input_tokens"`
	Output        *int `json:"output_tokens"`
	OutputDetails *struct {
		Thinking *int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	set := func(to *int, from *int) {
		if from != nil && *from >= 0 {
			*to = wire.Count(*from)
		}
	}
	set(&d.Usage.Input, u.Input)
	set(&d.Usage.CacheRead, u.CacheRead)
	set(&d.Usage.CacheWrite, u.CacheWrite)
	set(&d.Usage.Output, u.Output)
	if u.OutputDetails != nil {
		set(&d.Usage.Reasoning, u.OutputDetails.Thinking)
	}
}
