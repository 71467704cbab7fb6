package ollama_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/ollama"
	"artoo/provider/providertest"
)

// described answers /api/show by itself and passes everything else on: the
// suite's scripts are of replies.
type described struct {
	next http.RoundTripper
	show providertest.Reply
}

func (d described) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/api/show") {
		return d.next.RoundTrip(r)
	}
	head := http.Header{"Content-Type": {d.show.ContentType}}
	return &http.Response{StatusCode: d.show.Status, Header: head, Body: io.NopCloser(bytes.NewReader(d.show.Body)),
		Request: r}, nil
}

// CloseIdleConnections is looked for by http.Client.
func (d described) CloseIdleConnections() {
	if c, ok := d.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func suite() providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			client := &http.Client{Transport: described{c.HTTP.Transport,
				providertest.OllamaShow(32_768, "completion", "tools", "thinking", "vision")}}
			return &ollama.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: client,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		},
		Build:    providertest.Ollama,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireOllama, body) },
		Unmark:   func(body []byte) []byte { return body }, // the cache needs no marks
		Stops: map[string]provider.StopReason{"stop": provider.StopComplete, "novelty": provider.StopComplete,
			"length": provider.StopMaxTokens},
		Tells: func(u provider.Usage) provider.Usage {
			return provider.Usage{Input: u.Prompt(), Output: u.Output} // no word of caches and reasoning
		},
		EchoesReasoning: true,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, suite()) }

func FuzzOllamaStream(f *testing.F) { providertest.FuzzStream(f, suite()) }
