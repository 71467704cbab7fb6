package anthropic_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/providertest"
)

func TestModels(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t,
		providertest.JSON(200, `{"data":[
			{"id":"claude-opus-9","display_name":"Claude Opus 9","max_input_tokens":3000000,"max_tokens":256000,
			 "capabilities":{"image_input":{"supported":false},"thinking":{"supported":true},"effort":{"supported":true,"low":{"supported":true},"xhigh":{"supported":true},"medium":{"supported":false}}}},
			{"id":"claude-haiku-4-5-20251001","display_name":"Claude Haiku 4.5"}],"has_more":true,"last_id":"claude-haiku-4-5-20251001"}`),
		providertest.JSON(200,
			`{"data":[{"id":"claude-9-odd","max_tokens":"many"},{"id":""}],"has_more":false,"last_id":"claude-9-odd"}`))
	p := &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: srv.URL + "/v1", HTTP: srv.HTTP,
		Headers: map[string]string{"Anthropic-Beta": "b"}}}
	got, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	server, guess := provider.Source{Name: provider.FromServer}, provider.Source{Name: provider.FromGuess}
	list := (*provider.Catalog)(nil).Sources()[0]
	want := []provider.ModelInfo{
		{ID: "claude-opus-9", Provider: "anthropic", Name: "Claude Opus 9", Context: 3_000_000, MaxOutput: 256_000,
			Tools: true, Reasoning: true, Efforts: []string{"low", "xhigh"}, ContextFrom: server},
		{ID: "claude-haiku-4-5-20251001", Provider: "anthropic", Name: "Claude Haiku 4.5", Context: 200_000,
			MaxOutput: 64_000,
			Price:     &provider.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}, Images: true,
			Tools: true, Reasoning: true, ContextFrom: list, PriceFrom: list},
		{ID: "claude-9-odd", Provider: "anthropic", Name: "claude-9-odd", Context: 128_000, MaxOutput: 32_000,
			Images: true, Tools: true, Reasoning: true, Guess: true, ContextFrom: guess},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	seen := srv.Requests()
	if len(seen) != 2 || seen[0].Method != "GET" || seen[0].Path != "/v1/models" || seen[0].Query != "limit=1000" ||
		seen[1].Query != "after_id=claude-haiku-4-5-20251001&limit=1000" {
		t.Fatalf("asked %+v", seen)
	}
	if h := seen[0].Header; h.Get("Anthropic-Version") == "" || h.Get("Anthropic-Beta") != "b" ||
		h.Get("Content-Type") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestModelsRefused(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t, providertest.Fail(401, "authentication_error", "invalid x-api-key"),
		providertest.JSON(200, `[`))
	p := &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: srv.URL, HTTP: srv.HTTP}}
	for _, want := range []provider.ErrorKind{provider.KindAuth, provider.KindProvider} {
		_, err := p.Models(t.Context())
		if e := provider.AsError(err); e == nil || e.Kind != want || e.Provider != "anthropic" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (&anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: "ftp://x"}}).Models(
		t.Context()); provider.AsError(err) == nil || provider.AsError(err).Provider != "anthropic" {
		t.Errorf("%v", err)
	}
}

// TestDescribeOfAServerOfOnesOwn: llama.cpp speaks Messages too, and gives a model
// the window it was started with.
func TestDescribeOfAServerOfOnesOwn(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/v1/models?limit=1000": `{"data":[{"id":"tiny","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}`,
		"/props":                `{"default_generation_settings":{"n_ctx":4096}}`,
	}
	for _, path := range []string{"", "/v1"} {
		s := providertest.Serve(t, &providertest.Handler{Next: func(_ int, r providertest.Request) providertest.Reply {
			if body, ok := answers[strings.TrimSuffix(r.Path+"?"+r.Query, "?")]; ok {
				return providertest.JSON(200, body)
			}
			return providertest.Fail(404, "not_found_error", "no such path")
		}})
		p := &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: s.URL + path, HTTP: s.HTTP,
			Local: true}}
		for range 2 {
			info, err := p.Describe(t.Context(), "tiny")
			if err != nil || info.Context != 4096 || info.Guess || len(s.Requests()) != 2 {
				t.Errorf("%+v, %v, %d requests", info, err, len(s.Requests()))
			}
		}
	}
}
