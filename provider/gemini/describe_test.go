package gemini_test

import (
	"testing"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

// A model that the catalogue does not have gets the window that its server names, and is
// asked for once.
func TestDescribe(t *testing.T) {
	t.Parallel()
	srv := providertest.NewServer(t,
		providertest.JSON(200, `{"name":"models/gemini-9-pro","displayName":"Gemini 9 Pro","inputTokenLimit":1048576,"outputTokenLimit":65536,"thinking":true}`),
		providertest.JSON(404, `{"error":{"code":404,"message":"models/none is not found","status":"NOT_FOUND"}}`),
		providertest.JSON(503, `{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}`),
		providertest.JSON(200, `<html>`),
		providertest.JSON(400, `{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`),
		providertest.JSON(200, `{"name":"tunedModels/mine","inputTokenLimit":30000}`))
	p := &gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: srv.URL, HTTP: srv.HTTP}}
	for range 2 {
		info, err := p.Describe(t.Context(), "gemini-9-pro")
		if err != nil || info.Context != 1_048_576 || info.MaxOutput != 65_536 || info.Guess || info.ID != "gemini-9-pro" ||
			!info.Reasoning || info.Name != "Gemini 9 Pro" || info.ContextFrom.Name != provider.FromServer || info.Price != nil {
			t.Errorf("%+v, %v", info, err)
		}
	}
	for range 2 { // A server is not asked again for facts that it lacks.
		if info, err := p.Describe(t.Context(), "none"); err != nil || !info.Guess || info.Context != 128_000 {
			t.Errorf("%+v, %v", info, err)
		}
	}
	for range 2 { // one that could not say may say more the next time
		if info, err := p.Describe(t.Context(), "busy"); err != nil || !info.Guess {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if _, err := p.Describe(t.Context(), "busy"); provider.AsError(err) == nil || provider.AsError(err).Kind != provider.KindAuth {
		t.Errorf("a refused key: %v", err)
	}
	if info, err := p.Describe(t.Context(), "tunedModels/mine"); err != nil || info.Context != 30_000 || info.ID != "tunedModels/mine" ||
		info.MaxOutput > 15_000 {
		t.Errorf("%+v, %v", info, err)
	}
	want := []string{"/v1beta/models/gemini-9-pro", "/v1beta/models/none", "/v1beta/models/busy", "/v1beta/models/busy",
		"/v1beta/models/busy", "/v1beta/tunedModels/mine"}
	for i, r := range srv.Requests() {
		if r.Method != "GET" || i >= len(want) || r.Path != want[i] {
			t.Errorf("request %d: %s %s", i, r.Method, r.Path)
		}
	}
	srv.Close()
	if _, err := p.Describe(t.Context(), "other"); provider.AsError(err) == nil {
		t.Errorf("a server that is not there: %v", err)
	}
}
