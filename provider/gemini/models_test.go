package gemini_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

// TestModels: all pages are read; the server's facts override the catalogue's, which fill the gaps. A model that draws,
// speaks or only makes vectors is left out.
func TestModels(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t,
		providertest.JSON(200, `{"models":[
			{"name":"models/gemini-9-pro","displayName":"Gemini 9 Pro","inputTokenLimit":3000000,"outputTokenLimit":99000,"supportedGenerationMethods":["generateContent","countTokens"],"thinking":true},
			{"name":"models/text-embedding-004","inputTokenLimit":2048,"outputTokenLimit":1,"supportedGenerationMethods":["embedContent"]},
			{"name":"models/gemini-2.5-flash-preview-tts","inputTokenLimit":8192,"outputTokenLimit":16384,"supportedGenerationMethods":["generateContent"]},
			{"name":"models/gemini-2.5-flash-image","supportedGenerationMethods":["generateContent"]},
			{"displayName":"Gemma 3 27B"}],"nextPageToken":"p 2"}`),
		providertest.JSON(200, `{"models":[{"name":"models/gemini-2.5-flash","supportedGenerationMethods":["generateContent"],"inputTokenLimit":"many"},
			{"name":"tunedModels/mine","supportedGenerationMethods":["generateContent"]}]}`))
	p := &gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: srv.URL + "/v1beta", HTTP: srv.HTTP,
		Headers: map[string]string{"X-Own": "b"}}}
	got, err := p.Models(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	flash, known := provider.Lookup("gemini", "gemini-2.5-flash")
	if !known || flash.Price == nil {
		t.Fatalf("the catalogue says %+v", flash)
	}
	mine, _ := provider.Lookup("gemini", "tunedModels/mine")
	newest, _ := provider.Lookup("gemini", "gemini-9-pro")
	newest.Name, newest.Context, newest.MaxOutput, newest.Reasoning, newest.Guess = "Gemini 9 Pro", 3_000_000,
		99_000, true, false
	newest.ContextFrom = provider.Source{Name: provider.FromServer}
	if diff := cmp.Diff([]provider.ModelInfo{newest, flash, mine}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	seen := srv.Requests()
	if len(seen) != 2 || seen[0].Method != "GET" || seen[0].Path != "/v1beta/models" ||
		seen[0].Query != "pageSize=1000" || seen[1].Query != "pageSize=1000&pageToken=p+2" {
		t.Fatalf("asked %+v", seen)
	}
	if h := seen[0].Header; h.Get("X-Own") != "b" || h.Get("Content-Type") != "" {
		t.Errorf("headers %v", h)
	}
}

func TestModelsRefused(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t,
		providertest.JSON(400,
			`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`),
		providertest.JSON(200, `[`))
	p := &gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: srv.URL, HTTP: srv.HTTP}}
	for _, want := range []provider.ErrorKind{provider.KindAuth, provider.KindProvider} {
		_, err := p.Models(t.Context())
		if e := provider.AsError(err); e == nil || e.Kind != want || e.Provider != "gemini" {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := (&gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: "ftp://x"}}).Models(
		t.Context()); provider.AsError(err) == nil || provider.AsError(err).Provider != "gemini" {
		t.Errorf("%v", err)
	}
}

// TestAListWithoutEnd: a server that gives the same page for ever is left.
func TestAListWithoutEnd(t *testing.T) {
	t.Parallel()
	n := 0
	srv := providertest.Serve(t, &providertest.Handler{Next: func(int, providertest.Request) providertest.Reply {
		n++
		return providertest.JSON(200, `{"models":[{"name":"models/gemini-2.5-pro"}],"nextPageToken":"x"}`)
	}})
	p := &gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: srv.URL, HTTP: srv.HTTP}}
	if _, err := p.Models(t.Context()); err != nil || n != 2 {
		t.Errorf("%d pages, %v", n, err)
	}
}
