package providertest

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/sweep"
)

// refusalsOfAll are words of refusals from which one wire or another learns the parts to leave out.
func refusalsOfAll() []string {
	return []string{
		"Unsupported parameter: 'temperature' is not supported with this model.",
		"Unsupported parameter: 'reasoning.effort' is not supported with this model.",
		"Your organization must be verified to generate reasoning summaries.",
		"Encrypted content is not supported with this model.",
		"Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
		"Duplicate item found with id msg_1.",
		"The encrypted content for item rs_1 could not be verified.",
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.",
		"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
		"Unsupported parameter: 'max_completion_tokens'. Use max_tokens.",
		"max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens",
		"max_tokens is too large: 4096. This model supports at most 2048 completion tokens.",
		"Unknown field: stream_options", "Unknown field: parallel_tool_calls", "Unknown field: prompt_cache_key",
		"This model's maximum context length is 8192 tokens. However, you requested 10096 tokens (6000 in the messages, 4096 in the completion).",
		"This model's maximum context length is 8192 tokens. However, you requested 4096 output tokens and your prompt contains at least 4097 input tokens.",
		"input length and `max_tokens` exceed context limit: 6000 + 4096 > 8192",
		"invalid schema for function read", "failed to parse grammar",
		"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.",
		"Unexpected role 'user' after role 'tool'", "unexpected message role: developer",
		"The reasoning_content in the thinking mode must be passed back to the API.", "reasoning_content is not supported",
		"messages.1.content.0: `thinking` blocks cannot be modified",
		"messages.1.content.0: Invalid `signature` in `thinking` block",
		"thinking.type.enabled is not supported for this model", "adaptive thinking is not supported on this model",
		"This model does not support the effort parameter.",
		"Thinking level is not supported for this model.",
		"Function call is missing a thought_signature in functionCall parts.", "Thought signature is not valid.",
		"Corrupted thought signature.",
		`Invalid JSON payload received. Unknown name "parametersJsonSchema" at 'tools[0].function_declarations[0]': Cannot find field.`,
		`Invalid JSON payload received. Unknown name "id" at 'contents[1].parts[0].function_call': Cannot find field.`,
		"GenerateContentRequest.tools[0].function_declarations[0].parameters: wrong",
		`"m" does not support thinking`, "think value \"high\" is not supported for this model",
		"m does not support tools", "does not support images",
	}
}

// TestAnyRefusalEnds: whatever a server refuses, and however often, a request is
// given up after a few tries that differ from one another, and refusals that take
// turns cannot go on for ever either.
func TestAnyRefusalEnds(t *testing.T) {
	t.Parallel()
	for _, s := range wires() {
		t.Run(s.name, func(t *testing.T) {
			all := refusalsOfAll()
			for _, n := range sweep.Cases(t, 15, 4*len(all)) {
				words, status := all[n/4], []int{400, 404, 422, 500}[n%4]
				sent := s.refused(t, func(int) (int, string) { return status, words })
				same := 0
				for i := range sent[1:] {
					if bytes.Equal(sent[i], sent[i+1]) {
						same++
					}
				}
				if len(sent) > 6 || same > 1 { // Gemini's signatures are sent once more as they are
					t.Errorf("%d %s: sent %d times, %d of them as before", status, words, len(sent), same)
				}
			}
			if n := len(s.refused(t, func(n int) (int, string) { return 400, all[n%len(all)] })); n > 12 {
				t.Errorf("refusals that take turns: sent %d times", n)
			}
		})
	}
}

// refused are the bodies of one request, which holds all that there is to refuse,
// to a server that takes none of them; says gives status and words of the nth
// refusal.
func (s spoken) refused(t *testing.T, says func(n int) (int, string)) (bodies [][]byte) {
	t.Helper()
	req := question()
	heat := 0.5
	req.Model, req.Effort, req.Temperature = s.model, provider.EffortHigh, &heat
	said := s.reply(t, s.name, req, step(1)...)
	req.Messages = append(req.Messages, said)
	for _, c := range said.Calls() {
		req.Messages = append(req.Messages, result(c, "x"))
	}
	req.Messages = append(req.Messages,
		provider.UserText("and this?", provider.Image{MediaType: "image/png", Data: []byte("PNG")}))
	server := Serve(t, &Handler{Next: func(_ int, r Request) Reply {
		bodies = append(bodies, r.Body)
		status, words := says(len(bodies) - 1)
		return Fail(status, "invalid_request_error", words)
	}})
	p := s.New(Config{Name: s.name, URL: server.URL, HTTP: &http.Client{Transport: server.HTTP.Transport}})
	r := Collect(p.Stream(t.Context(), req))
	_, words := says(len(bodies) - 1)
	if e := provider.AsError(r.Err); e == nil || !strings.Contains(e.Message, words) {
		t.Errorf("%v after %d requests", r.Err, len(bodies))
	}
	return bodies
}
