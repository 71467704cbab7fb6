package wire

import (
	"net/http"
	"testing"
	"time"

	"artoo/provider"
)

func TestClassifyByWhatServersSay(t *testing.T) {
	tests := []struct {
		name              string
		status            int
		body              string
		kind              provider.ErrorKind
		code              string
		window, requested int
	}{
		{"Anthropic overflow", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, provider.KindContext, "invalid_request_error", 200000, 213462},
		{"Anthropic input and reply", 400, `{"error":{"message":"input length and ` + "`max_tokens`" + ` exceed context limit: 143653 + 64000 > 200000, decrease input length"}}`, provider.KindContext, "", 200000, 207653},
		{"OpenAI overflow", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens.","code":"context_length_exceeded"}}`, provider.KindContext, "context_length_exceeded", 128000, 130001},
		{"OpenAI without numbers", 400, `{"error":{"message":"Your input exceeds the context window of this model"}}`, provider.KindContext, "", 0, 0},
		{"OpenRouter overflow", 400, `{"error":{"code":400,"message":"This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens (69000 of text input)."}}`, provider.KindContext, "400", 65536, 70000},
		{"llama.cpp overflow", 400, `{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`, provider.KindContext, "exceed_context_size_error", 4096, 4390},
		{"llama.cpp in mid generation", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, provider.KindContext, "server_error", 0, 0},
		{"Gemini overflow", 400, `[{"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, provider.KindContext, "INVALID_ARGUMENT", 1048576, 1048577},
		{"xAI overflow", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, provider.KindContext, "", 131072, 537812},
		{"vLLM overflow", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`, provider.KindContext, "BadRequestError", 4096, 5000},
		{"too many tokens", 400, `{"error":{"message":"too many tokens in the prompt"}}`, provider.KindContext, "", 0, 0},
		{"too many tokens per minute", 429, `{"error":{"message":"too many tokens, slow down"}}`, provider.KindRateLimit, "", 0, 0},
		{"a file limit is none", 400, `{"error":{"message":"image exceeds the limit of 5 MB"}}`, provider.KindInvalid, "", 0, 0},
		{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.KindBilling, "insufficient_quota", 0, 0},
		{"Gemini's words for a rate", 429, `{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}`, provider.KindRateLimit, "RESOURCE_EXHAUSTED", 0, 0},
		{"Anthropic balance", 400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, provider.KindBilling, "invalid_request_error", 0, 0},
		{"OpenAI model", 404, `{"error":{"message":"The model gpt-9 does not exist","code":"model_not_found"}}`, provider.KindConfig, "model_not_found", 0, 0},
		{"OpenRouter model", 400, `{"error":{"code":400,"message":"foo/bar is not a valid model ID"}}`, provider.KindConfig, "400", 0, 0},
		{"OpenRouter moderation", 403, `{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}`, provider.KindRefused, "403", 0, 0},
		{"OpenRouter upstream", 502, `{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 5 tokens > 4 maximum\"}}","provider_name":"X"}}}`, provider.KindContext, "502", 4, 5},
		{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, provider.KindInvalid, "", 0, 0},
		{"a plain string", 500, `{"error":"out of memory"}`, provider.KindProvider, "", 0, 0},
		{"images", 500, `{"error":{"code":500,"message":"image input is not supported - hint: mmproj","type":"server_error"}}`, provider.KindInvalid, "server_error", 0, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d, ok := parseDetail([]byte(tc.body))
			if !ok {
				t.Fatal("not understood")
			}
			e := classify(tc.status, d, Request{})
			if e.Kind != tc.kind || e.Code != tc.code || e.Window != tc.window || e.Requested != tc.requested {
				t.Errorf("kind %s code %q window %d requested %d (%s)", e.Kind, e.Code, e.Window, e.Requested, e.Message)
			}
		})
	}
}

func TestFailureTellsErrorsFromNone(t *testing.T) {
	for _, none := range []string{``, `null`, `{}`, `{"error":null}`, `{"error":{}}`, `{"choices":[]}`, `<html>`} {
		if e := Failure([]byte(none)); e != nil {
			t.Errorf("%s: %v", none, e)
		}
	}
	for body, want := range map[string]provider.ErrorKind{
		`{"error":{"code":402,"message":"credits"}}`: provider.KindBilling,
		`{"error":{"code":"429","message":"slow"}}`:  provider.KindRateLimit,
		`{"error":{"message":"?","type":"novel"}}`:   provider.KindProvider,
		`{"error":"boom"}`:                           provider.KindProvider,
	} {
		if e := Failure([]byte(body)); e == nil || e.Kind != want {
			t.Errorf("%s: %+v, want %s", body, e, want)
		}
	}
}

func TestRetryWords(t *testing.T) {
	head := func(kv ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(kv); i += 2 {
			h.Set(kv[i], kv[i+1])
		}
		return h
	}
	for _, tc := range []struct {
		h    http.Header
		want time.Duration
	}{
		{head(), 0},
		{head("Retry-After", "1.5"), 1500 * time.Millisecond},
		{head("Retry-After", "-3"), 0},
		{head("Retry-After", "NaN"), 0},
		{head("Retry-After", "soon"), 0},
		{head("Retry-After", "1e300"), 1e9 * time.Second},
		{head("Retry-After", "7", "Retry-After-Ms", "20"), 20 * time.Millisecond},
		{head("Retry-After", "7", "Retry-After-Ms", "x"), 7 * time.Second},
		{head("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"), 0},
	} {
		if got, retry := retryWords(tc.h); got != tc.want || retry != nil {
			t.Errorf("%v: %s %v, want %s", tc.h, got, retry, tc.want)
		}
	}
	at := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	if got, _ := retryWords(head("Retry-After", at)); got < 59*time.Minute || got > time.Hour {
		t.Errorf("a date in an hour: %s", got)
	}
	if _, retry := retryWords(head("X-Should-Retry", "true")); retry == nil || !*retry {
		t.Error("x-should-retry: true was not seen")
	}
}
