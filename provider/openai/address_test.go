package openai_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"artoo/provider"
	"artoo/provider/openai"
)

// roundTrip is a transport that only notes where a request would go.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A key goes to its own vendor and to no one else; where no address is known
// nothing is sent.
func TestEachVendorHasItsOwnAddress(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"openai":     "https://api.openai.com/v1/chat/completions",
		"deepseek":   "https://api.deepseek.com/chat/completions",
		"openrouter": "https://openrouter.ai/api/v1/chat/completions",
		"compatible": "",
		"my-gateway": "",
	} {
		sent := ""
		chat := &openai.Chat{Server: provider.Server{Name: name, Key: func(context.Context) (string,
			error) {
			return "k", nil
		}, HTTP: &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.URL.String()
			return nil, errors.New("not sent")
		})}}, Quirks: openai.QuirksFor(name)}
		var last error
		for _, err := range chat.Stream(t.Context(),
			provider.Request{Options: provider.Options{Model: "m"},
				Messages: []provider.Message{provider.UserText("hi")}}) {
			last = err
		}
		if sent != want {
			t.Errorf("%s: sent to %q, want %q", name, sent, want)
		}
		if e := provider.AsError(last); want == "" && (e == nil || e.Kind != provider.KindConfig || e.Hint == "") {
			t.Errorf("%s: %v, want a config error with a hint", name, last)
		}
	}
}

func TestOpenAIElsewhereIsACompatibleServer(t *testing.T) {
	t.Parallel()
	for address, own := range map[string]bool{
		"": true, "https://api.openai.com/v1": true, "https://eu.api.openai.com/v1": true,
		"https://me.openai.azure.com/openai/v1": true,
		"http://localhost:8080/v1":              false, "https://gateway.example/v1": false,
		"https://azure.com.example/v1": false,
	} {
		if got := openai.QuirksAt("openai", address).SystemRole == "developer"; got != own {
			t.Errorf("%q: OpenAI's own words: %v, want %v", address, got, own)
		}
	}
	if !openai.QuirksAt("openrouter", "https://gateway.example/v1").UsageInclude {
		t.Error("another name keeps its own")
	}
}
