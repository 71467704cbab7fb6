package gemini_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

func TestModels(t *testing.T) {
	srv := providertest.NewServer(t,
		providertest.JSON(200, `{"models":[
			{"name":"models/gemini-9-neon","displayName":"Gemini 9 Neon","inputTokenLimit":2000000,"outputTokenLimit":100000,"supportedGenerationMethods":["generateContent","countTokens"],"thinking":false},
			{"name":"models/gemini-embedding-001","supportedGenerationMethods":["embedContent"]},
			{"name":"models/gemini-3-flash-tts","supportedGenerationMethods":["generateContent"]},
			{"name":"models/gemini-2.5-flash","inputTokenLimit":"many"}],"nextPageToken":"two"}`),
		providertest.JSON(200, `{"models":[{"name":""},{"name":"models/gemini-9-odd"}]}`))
	p := &gemini.Provider{Name: "gemini", BaseURL: srv.URL + "/v1beta", HTTP: srv.HTTP, Headers: map[string]string{"X-Own": "h"},
		Key: func(context.Context) (string, error) { return "AIza-key", nil }}
	got, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.ModelInfo{
		{ID: "gemini-9-neon", Provider: "gemini", Name: "Gemini 9 Neon", Context: 2_000_000, MaxOutput: 100_000, Images: true, Tools: true},
		{ID: "gemini-2.5-flash", Provider: "gemini", Name: "Gemini 2.5 Flash", Context: 1_048_576, MaxOutput: 50_000,
			Price: &provider.Price{Input: 0.3, Output: 2.5, CacheRead: 0.03}, Images: true, Tools: true, Reasoning: true},
		{ID: "gemini-9-odd", Provider: "gemini", Name: "gemini-9-odd", Context: 128_000, MaxOutput: 50_000, Images: true, Tools: true, Reasoning: true, Guess: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	seen := srv.Requests()
	if len(seen) != 2 || seen[0].Method != "GET" || seen[0].Path != "/v1beta/models" || seen[0].Query != "pageSize=1000" || seen[1].Query != "pageSize=1000&pageToken=two" {
		t.Fatalf("asked %+v", seen)
	}
	if h := seen[0].Header; h.Get("X-Goog-Api-Key") != "AIza-key" || h.Get("X-Own") != "h" {
		t.Errorf("headers %v", h)
	}
}

func TestModelsRefused(t *testing.T) {
	srv := providertest.NewServer(t, providertest.Fail(403, "PERMISSION_DENIED", "the key is wrong"), providertest.JSON(200, `[`))
	p := &gemini.Provider{Name: "gemini", BaseURL: srv.URL, HTTP: srv.HTTP}
	for _, want := range []provider.ErrorKind{provider.KindAuth, provider.KindProvider} {
		_, err := p.Models(t.Context())
		if e := provider.AsError(err); e == nil || e.Kind != want || e.Provider != "gemini" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (&gemini.Provider{Name: "gemini", BaseURL: "ftp://x"}).Models(t.Context()); provider.AsError(err) == nil || provider.AsError(err).Provider != "gemini" {
		t.Errorf("%v", err)
	}
}
