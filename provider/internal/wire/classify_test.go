package wire

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// serverSays is the body of a failed request, and its classification.
type serverSays struct {
	name              string
	status            int
	body              string
	kind              provider.ErrorKind
	code              string
	window, requested int
}

// serversSay are such bodies in the words of the servers themselves.
var serversSay = []serverSays{
	{"Anthropic overflow", 400,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, provider.KindContext, "invalid_request_error", 200000, 213462},
	{"Anthropic input and reply", 400, `{"error":{"message":"input length and ` + "`max_tokens`" +
		` exceed context limit: 143653 + 64000 > 200000, decrease input length"}}`, provider.KindContext,
		"", 200000, 143653},
	{"OpenAI overflow", 400,
		`{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 130,001 tokens.","code":"context_length_exceeded"}}`, provider.KindContext, "context_length_exceeded", 128000, 130001},
	{"OpenAI without numbers", 400, `{"error":{"message":"Your input exceeds the context window of this model"}}`,
		provider.KindContext, "", 0, 0},
	{"OpenRouter overflow", 400,
		`{"error":{"code":400,"message":"This endpoint's maximum context length is 65536 tokens. However, you requested about 70000 tokens (69000 of text input)."}}`, provider.KindContext, "400", 65536, 70000},
	{"llama.cpp overflow", 400,
		`{"error":{"code":400,"message":"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":4390,"n_ctx":4096}}`, provider.KindContext, "exceed_context_size_error", 4096, 4390},
	{"llama.cpp in mid generation", 500,
		`{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`,
		provider.KindContext, "server_error", 0, 0},
	{"Gemini overflow", 400,
		`[{"error":{"code":400,"message":"The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, provider.KindContext, "INVALID_ARGUMENT", 1048576, 1048577},
	{"xAI overflow", 400,
		`{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, provider.KindContext, "", 131072, 537812},
	{"vLLM overflow, counted so far", 400,
		`{"error":{"message":"This model's maximum context length is 4096 tokens. However, you requested 1000 output tokens and your prompt contains at least 3097 input tokens, for a total of at least 4097 tokens.","type":"BadRequestError","param":"input_tokens","code":400}}`, provider.KindContext, "BadRequestError", 4096, 4097},
	{"Groq overflow", 413, groqTooLarge, provider.KindContext, "rate_limit_exceeded", 6000, 8123},
	{"TGI overflow", 422, `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" +
		` must be <= 4096. Given: 3000 tokens","error_type":"validation"}`, provider.KindContext, "", 0, 0},
	{"vLLM overflow", 400,
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`, provider.KindContext, "BadRequestError", 4096, 5000},
	{"too many tokens", 400, `{"error":{"message":"too many tokens in the prompt"}}`, provider.KindContext, "", 0, 0},
	{"too many tokens per minute", 429, `{"error":{"message":"too many tokens, slow down"}}`,
		provider.KindRateLimit, "", 0, 0},
	{"a file limit is none", 400, `{"error":{"message":"image exceeds the limit of 5 MB"}}`,
		provider.KindInvalid, "", 0, 0},
	{"quota", 429,
		`{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, provider.KindBilling, "insufficient_quota", 0, 0},
	{"Gemini's words for a rate", 429,
		`{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}`,
		provider.KindRateLimit, "RESOURCE_EXHAUSTED", 0, 0},
	{"Anthropic balance", 400,
		`{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, provider.KindBilling, "invalid_request_error", 0, 0},
	{"OpenAI model", 404, `{"error":{"message":"The model gpt-9 does not exist","code":"model_not_found"}}`,
		provider.KindConfig, "model_not_found", 0, 0},
	{"OpenRouter model", 400, `{"error":{"code":400,"message":"foo/bar is not a valid model ID"}}`,
		provider.KindConfig, "400", 0, 0},
	{"OpenRouter moderation", 403,
		`{"error":{"code":403,"message":"Your input was flagged","metadata":{"reasons":["violence"]}}}`,
		provider.KindRefused, "403", 0, 0},
	{"OpenRouter upstream", 502,
		`{"error":{"code":502,"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 5 tokens > 4 maximum\"}}","provider_name":"X"}}}`, provider.KindContext, "502", 4, 5},
	{"FastAPI", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, provider.KindInvalid, "", 0, 0},
	{"a plain string", 500, `{"error":"out of memory"}`, provider.KindProvider, "", 0, 0},
	{"images", 500,
		`{"error":{"code":500,"message":"image input is not supported - hint: mmproj","type":"server_error"}}`,
		provider.KindInvalid, "no_images", 0, 0},
	{"a kind of image it cannot read", 400,
		`{"error":{"code":400,"message":"Failed to load image or audio file","type":"invalid_request_error"}}`,
		provider.KindInvalid, "no_images", 0, 0},
	{"OpenRouter images", 404, `{"error":{"message":"No endpoints found that support image input","code":404}}`,
		provider.KindInvalid, "no_images", 0, 0},
	{"vLLM images", 400,
		`{"error":{"message":"qwen3 is not a multimodal model","type":"BadRequestError","code":400}}`,
		provider.KindInvalid, "no_images", 0, 0},
}

func TestClassifyByWhatServersSay(t *testing.T) {
	t.Parallel()
	for _, tc := range serversSay {
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

func TestARefusalForBytesSaysSo(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]bool{
		`{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`:                   true,
		`{"error":{"message":"Payload Too Large"}}`:                                                             true,
		`{"error":{"type":"request_too_large","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`: false,
		groqTooLarge: false,
	} {
		d, ok := parseDetail([]byte(body))
		if e := classify(413, d, Request{}); !ok || e.Kind != provider.KindContext || e.InBytes != want {
			t.Errorf("%s: %+v", body, e)
		}
	}
}

func TestFailureTellsErrorsFromNone(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	const ages = 100 * year * time.Second
	for _, tc := range []struct {
		h    http.Header
		want time.Duration
	}{
		{head(), 0},
		{head("Retry-After", "1.5"), 1500 * time.Millisecond},
		{head("Retry-After", "-3"), 0},
		{head("Retry-After", "NaN"), 0},
		{head("Retry-After", "soon"), 0},
		{head("Retry-After", "1m30s"), 90 * time.Second},
		{head("Retry-After", "-20s"), 0},
		{head("Retry-After", "Inf"), ages},
		{head("Retry-After", "1e9"), 1e9 * time.Second},
		{head("Retry-After", "2592000"), 30 * 24 * time.Hour},
		{head("Retry-After", strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)), 0}, // a time of day that is over
		{head("Retry-After", "Wed, 21 Oct 2915 07:28:00 GMT"), ages},
		{head("Retry-After", "99999h"), 99999 * time.Hour},
		{head("Retry-After-Ms", "1e300", "Retry-After", "2"), 2 * time.Second},
		{head("Retry-After-Ms", "-5", "Retry-After", "2"), 2 * time.Second},
		{head("Retry-After", "1e300"), ages},
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
	at = strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10)
	if got, _ := retryWords(head("Retry-After", at)); got < 59*time.Minute || got > time.Hour {
		t.Errorf("the second of an hour from now: %s", got)
	}
	if _, retry := retryWords(head("X-Should-Retry", "true")); retry == nil || !*retry {
		t.Error("x-should-retry: true was not seen")
	}
}

func TestTheMoreTellingWordCounts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		kind   provider.ErrorKind
		hint   string
	}{
		{"Gemini's refused key", 400,
			`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, provider.KindAuth, ""},
		{"a gateway's refused key", 400, `{"error":{"type":"authentication_error","message":"no"}}`, provider.KindAuth, ""},
		{"busy behind a gateway", 500, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`,
			provider.KindOverloaded, ""},
		{"a rate behind a gateway", 502, `{"error":{"type":"rate_limit_error","message":"slow"}}`,
			provider.KindRateLimit, ""},
		{"a bad request behind a gateway", 502, `{"error":{"type":"invalid_request_error","message":"upstream"}}`,
			provider.KindProvider, ""},
		{"Azure's filter", 400,
			`{"error":{"message":"The response was filtered","type":null,"param":"prompt","code":"content_filter","status":400}}`, provider.KindRefused, ""},
		{"OpenAI's filter", 400, `{"error":{"message":"Your prompt was flagged","code":"invalid_prompt"}}`,
			provider.KindRefused, ""},
		{"Anthropic's filter", 400,
			`{"error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`,
			provider.KindRefused, ""},
		{"more than a minute allows", 429,
			`{"error":{"message":"Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 34567. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, provider.KindContext, "a minute"},
		{"a reply limit is no window", 400, `{"error":{"message":"max_tokens exceeds the limit of 8192"}}`,
			provider.KindInvalid, ""},
		{"Anthropic's size in bytes", 413,
			`{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`,
			provider.KindContext, "bytes"},
		{"a model that is gone", 410, `{"error":{"message":"this model was retired"}}`, provider.KindConfig, "--model"},
		{"a path that is gone", 410, `{"error":{"message":"gone"}}`, provider.KindConfig, "ARTOO_BASE_URL"},
		{"OpenRouter has no one for it", 404,
			`{"error":{"code":404,"message":"No endpoints found that support tool use"}}`, provider.KindConfig, "--model"},
		{"llama.cpp is not ready", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`,
			provider.KindOverloaded, "still loading"},
		{"Groq's tokens a minute", 413, groqTooLarge, provider.KindContext, "a minute"},
		{"plain HTTP to TLS", 400, `{"error":{"message":"Client sent an HTTP request to an HTTPS server."}}`,
			provider.KindConfig, "https://"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d, ok := parseDetail([]byte(tc.body))
			if !ok {
				t.Fatal("not understood")
			}
			if e := classify(tc.status, d, Request{}); e.Kind != tc.kind || !strings.Contains(e.Hint, tc.hint) {
				t.Errorf("kind %s, hint %q, want %s and %q", e.Kind, e.Hint, tc.kind, tc.hint)
			}
		})
	}
}

// TestACallTheServerCannotReadIsTriedAgain: the request is as it should be, the
// model's call was not; Groq calls that a bad request.
func TestACallTheServerCannotReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	d, ok := parseDetail(
		[]byte(
			`{"error":{"message":"Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=read{}"}}`))
	for _, status := range []int{400, 0} {
		if e := classify(status, d, Request{}); !ok || e.Kind != provider.KindProvider || !e.Temporary() ||
			slices.ContainsFunc(refusals, func(r refusal) bool { return r.is(Chat, e) }) {
			t.Errorf("status %d: %+v", status, e)
		}
	}
}

const groqTooLarge = `{"error":{"message":"Request too large for model x in organization o service tier on_demand on tokens per minute (TPM): Limit 6000, Requested 8123, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}`

// TestErrorsInErrorsCostNoMore: each level is read again for the next one.
func TestErrorsInErrorsCostNoMore(t *testing.T) {
	deep := strings.Repeat(`{"error":`, 9000) + `"x"` + strings.Repeat(`}`, 9000)
	big := `{"error":{"error":{"message":"boom","pad":"` + strings.Repeat("x", 1<<20) + `"}}}`
	for _, body := range []string{deep, "[" + deep + "]", big} {
		cost := testing.AllocsPerRun(1, func() { parseDetail([]byte(body)) })
		if cost > 200 {
			t.Errorf("%.0f allocations for %.40s…", cost, body)
		}
	}
	if d, ok := parseDetail([]byte(big)); !ok || d.Message != "boom" {
		t.Errorf("%+v", d.Message)
	}
}

func TestDecodeLeavesOutWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	var v struct {
		A string
		N int
		L []string
		Z string
	}
	if err := Decode([]byte(`{"a":"x","n":"12","l":{"0":"y"},"z":"last"}`), &v); err != nil || v.A != "x" ||
		v.Z != "last" || v.N != 0 {
		t.Errorf("%+v %v", v, err)
	}
	if err := Decode([]byte(`{"a":`), &v); err == nil {
		t.Error("a broken document gave no error")
	}
}

// TestAnErrorInsideAMessageIsTheOneToShow: Ollama passes its runner's on as text.
func TestAnErrorInsideAMessageIsTheOneToShow(t *testing.T) {
	t.Parallel()
	const runner = `{\"error\":{\"code\":400,\"message\":\"request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":4390,\"n_ctx\":4096}}`
	for _, body := range []string{`{"error":"` + runner + `"}`, `{"error":"POST predict: ` + runner + `"}`,
		`{"error":{"message":"` + runner + `"}}`} {
		e := Failure([]byte(body))
		if e == nil || e.Kind != provider.KindContext ||
			e.Message != "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it" ||
			e.Window != 4096 || e.Requested != 4390 {
			t.Errorf("%s: %+v", body, e)
		}
	}
	if e := Failure([]byte(`{"error":"the call {\"path\" is no JSON"}`)); e == nil ||
		e.Message != `the call {"path" is no JSON` {
		t.Errorf("%+v", e)
	}
}
