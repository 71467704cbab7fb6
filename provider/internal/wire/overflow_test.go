package wire

import (
	"encoding/json"
	"testing"

	"artoo/provider"
)

// TestEveryServersWordsForAnOverflow: with whatever status and code they come, and
// inside a stream as well.
func TestEveryServersWordsForAnOverflow(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"prompt is too long: 213462 tokens > 200000 maximum",
		"Input is too long for requested model.",
		"Your input exceeds the context window of this model.", "The request exceed context limit", "exceeds context length",
		"context_length_exceeded",
		"input length and `max_tokens` exceed context limit: 143653 + 64000 > 200000",
		"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
		"This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
		"Please reduce the length of the messages or completion.",
		"This model's maximum context length is 4096 tokens.", "maximum context length of 8192 tokens",
		"prompt token count of 150000 exceeds the limit of 128000",
		"exceed_context_size_error",
		"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
		"Context size has been exceeded.",
		"the number of tokens is greater than the context length", "The context window is full",
		"Your request exceeded model token limit: 262144",
		"Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
		"Range of input length should be [1, 129024]", "input too long: 5 > 4",
		"the input length exceeds the context length", "Too many tokens in the prompt",
	} {
		for _, code := range []string{"", "server_error", "invalid_request_error", "500"} {
			data, err := json.Marshal(map[string]any{"error": map[string]any{"message": words, "code": code}})
			if err != nil {
				t.Fatal(err)
			}
			if e := Failure(data); e == nil || e.Kind != provider.KindContext {
				t.Errorf("in a stream, %q with code %q: %+v", words, code, e)
			}
			for _, status := range []int{400, 413, 422, 500} {
				d, _ := parseDetail(data)
				if e := classify(status, d, Request{}); e.Kind != provider.KindContext {
					t.Errorf("%d %q with code %q: %s", status, words, code, e.Kind)
				}
			}
		}
	}
	for _, words := range []string{"too many tokens", "rate limit: 40000 tokens per minute"} {
		if e := classify(429, detail{Message: words}, Request{}); e.Kind != provider.KindRateLimit {
			t.Errorf("429 %q: %s", words, e.Kind)
		}
	}
}
