package openai_test

import (
	"context"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

// pages is a server that answers with the document of each path, and with 404 to
// any other.
func pages(t *testing.T, answers map[string]providertest.Reply) *providertest.Server {
	t.Helper()
	return providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
		if reply, ok := answers[strings.TrimSuffix(r.Path+"?"+r.Query, "?")]; ok {
			return reply
		}
		return providertest.Fail(404, "not_found_error", "File Not Found")
	}})
}

// describeTest has a server's answers about its models, and the facts learned of one.
type describeTest struct {
	name       string
	answers    map[string]providertest.Reply
	window     int // 0 if unknown
	reply      int
	sees       bool
	asked, two int // requests for one description, and for two
}

// describeTests are the servers that say it, each in its own way.
func describeTests() []describeTest {
	json := func(body string) providertest.Reply { return providertest.JSON(200, body) }
	llama := json(
		`{"models":[{"name":"tiny"}],"object":"list","data":[{"id":"/home/user/tiny.gguf","owned_by":"llamacpp","architecture":{"input_modalities":["text"]},"meta":{"n_ctx":8192,"n_ctx_train":32768}}]}`)
	studio := json(
		`{"data":[{"id":"my-model","owned_by":"organization_owner"},{"id":"other","owned_by":"organization_owner"}]}`)
	return []describeTest{
		{"vLLM", map[string]providertest.Reply{"/v1/models": json(
			`{"data":[{"id":"my-model","owned_by":"vllm","max_model_len":12000},{"id":"lora","max_model_len":9}]}`)},
			12_000, 6000, false, 1, 1},
		{"llama.cpp", map[string]providertest.Reply{"/v1/models": llama}, 8192, 4096, false, 2, 2},
		{"llama.cpp, of one slot", map[string]providertest.Reply{"/v1/models": llama,
			"/props": json(`{"default_generation_settings":{"n_ctx":2048},"modalities":{"vision":true}}`)}, 2048,
			1024, true, 2, 2},
		{"llama.cpp, older", map[string]providertest.Reply{
			"/v1/models": json(`{"data":[{"id":"x","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}`),
			"/props":     json(`{"default_generation_settings":{"n_ctx":2048}}`)}, 2048, 1024, false, 2, 2},
		{"llama.cpp with several",
			map[string]providertest.Reply{
				"/v1/models": json(
					`{"data":[{"id":"x","owned_by":"llamacpp"},{"id":"my-model","owned_by":"llamacpp"}]}`),
				"/props?autoload=false&model=my-model": json(`{"default_generation_settings":{"n_ctx":2048}}`)},
			2048, 1024, false, 2, 2},
		{"llama.cpp, not loaded",
			map[string]providertest.Reply{"/v1/models": json(
				`{"data":[{"id":"x","owned_by":"llamacpp"},{"id":"my-model","owned_by":"llamacpp"}]}`),
				"/props": json(`{"default_generation_settings":{"n_ctx":2048}}`)}, 0, 0, false, 2, 4},
		{"LM Studio", map[string]providertest.Reply{"/v1/models": studio,
			"/api/v0/models": json(
				`{"data":[{"id":"my-model","type":"vlm","state":"loaded","max_context_length":131072,"loaded_context_length":4096,"capabilities":["tool_use"]}]}`)}, 4096, 2048, true, 2, 2},
		{"LM Studio, not loaded", map[string]providertest.Reply{"/v1/models": studio,
			"/api/v0/models": json(
				`{"data":[{"id":"my-model","type":"llm","state":"not-loaded","max_context_length":131072}]}`)},
			0, 0, false, 2, 4},
		{"LM Studio without its own list", map[string]providertest.Reply{"/v1/models": studio}, 0, 0, false, 2, 2},
		{"a model that is not listed",
			map[string]providertest.Reply{
				"/v1/models": json(`{"data":[{"id":"x","max_model_len":9},{"id":"y","max_model_len":9}]}`)},
			0, 0, false, 1, 1},
		{"no list", nil, 0, 0, false, 1, 1},
		{"a page", map[string]providertest.Reply{"/v1/models": providertest.Page(200, "Welcome")}, 0, 0, false, 1, 1},
		{"nonsense", map[string]providertest.Reply{"/v1/models": json(`{"data":`)}, 0, 0, false, 1, 1},
	}
}

// TestDescribe: servers report the window they give a model, and whether it sees images; the listed maximum of a model
// that is not loaded is no window.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for _, tc := range describeTests() {
		wires := map[string]func(*providertest.Server) provider.Describer{
			"chat": func(s *providertest.Server) provider.Describer {
				return &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: s.URL + "/v1/", HTTP: s.HTTP,
					Local: true}}
			},
			"responses": func(s *providertest.Server) provider.Describer {
				return &openai.Responses{Server: provider.Server{Name: "compatible", BaseURL: s.URL + "/v1/responses",
					HTTP: s.HTTP, Local: true}}
			},
		}
		for wire, connect := range wires {
			t.Run(tc.name+", "+wire, func(t *testing.T) {
				s := pages(t, tc.answers)
				p := connect(s)
				for _, requests := range []int{tc.asked, tc.two} {
					info, err := p.Describe(t.Context(), "my-model")
					if err != nil {
						t.Fatal(err)
					}
					want, _ := provider.Lookup("compatible", "my-model")
					if tc.window > 0 {
						want.Context, want.MaxOutput, want.Guess = tc.window, tc.reply, false
					}
					if info.ID != want.ID || info.Context != want.Context || info.MaxOutput != want.MaxOutput ||
						info.Guess != want.Guess || info.Images != tc.sees || info.Price != nil {
						t.Errorf("%+v, want %+v", info, want)
					}
					if n := len(s.Requests()); n != requests {
						t.Errorf("%d requests, want %d", n, requests)
					}
				}
			})
		}
	}
}

// TestDescribeOfOpenRouter: its prices are those that it charges.
func TestDescribeOfOpenRouter(t *testing.T) {
	t.Parallel()
	s := pages(t, map[string]providertest.Reply{"/api/v1/models": providertest.JSON(200, `{"data":[{"id":"a/b"},{"id":"new/thing","context_length":50000,
		"top_provider":{"max_completion_tokens":40000},"pricing":{"prompt":"0.000001","completion":"0.000002"},"supported_parameters":["tools"]}]}`)})
	p := &openai.Chat{Server: provider.Server{Name: "openrouter", BaseURL: s.URL + "/api/v1", Key: key, HTTP: s.HTTP},
		Quirks: openai.QuirksFor("openrouter")}
	info, err := p.Describe(t.Context(), "new/thing")
	if err != nil || info.Context != 50_000 || info.MaxOutput != 40_000 || info.Price == nil ||
		!info.Price.Equal(provider.Price{Input: 1, Output: 2}) || !info.Tools || info.Guess {
		t.Errorf("%+v %v", info, err)
	}
}

// TestDescribeIsAskedForAgain where the server could not answer just then: a moment must not cost the window of the
// whole run. It is not asked again for facts that it reports to lack.
func TestDescribeIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first providertest.Reply
		again bool
	}{
		"loading": {providertest.Fail(503, "unavailable_error", "Loading model"), true},
		"failing": {providertest.Fail(500, "server_error", "oops"), true},
		"limited": {providertest.Fail(429, "rate_limit_error", "slow down"), true},
		"no list": {providertest.Fail(404, "not_found_error", "no"), false},
		"no way":  {providertest.Fail(405, "invalid_request_error", "no"), false},
		"a page":  {providertest.Page(200, "Welcome"), false},
	} {
		s := providertest.NewServer(t, tc.first, providertest.JSON(200, `{"data":[{"id":"m","max_model_len":4096}]}`))
		p := &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: s.URL + "/v1", HTTP: s.HTTP}}
		info, err := p.Describe(t.Context(), "m")
		if err != nil || !info.Guess {
			t.Errorf("%s: %+v %v", name, info, err)
		}
		if info, err = p.Describe(t.Context(), "m"); err != nil || info.Guess == tc.again {
			t.Errorf("%s, later: %+v %v", name, info, err)
		}
	}
}

// TestDescribeWithoutAServer is an error each time, and none is remembered: the
// server may come, and the key may be given.
func TestDescribeWithoutAServer(t *testing.T) {
	t.Parallel()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	refused := providertest.Fail(401, "authentication_error", "no")
	for name, tc := range map[string]struct {
		ctx   context.Context
		base  string
		first providertest.Reply
		kind  provider.ErrorKind
	}{
		"refused":   {t.Context(), "", refused, provider.KindAuth},
		"no server": {t.Context(), "http://127.0.0.1:1/v1", refused, provider.KindNetwork},
		"given up":  {gone, "", refused, provider.KindCanceled},
	} {
		s := providertest.NewServer(t, tc.first, providertest.JSON(200, `{"data":[{"id":"m","max_model_len":4096}]}`))
		p := &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: tc.base, HTTP: s.HTTP}}
		if tc.base == "" {
			p.BaseURL = s.URL + "/v1"
		}
		info, err := p.Describe(tc.ctx, "m")
		if e := provider.AsError(err); e == nil || e.Kind != tc.kind || e.Provider != "compatible" || !info.Guess {
			t.Errorf("%s: %+v %v", name, info, err)
		}
		if name == "refused" {
			if info, err = p.Describe(tc.ctx, "m"); err != nil || info.Context != 4096 {
				t.Errorf("with a key: %+v %v", info, err)
			}
		}
	}
}
