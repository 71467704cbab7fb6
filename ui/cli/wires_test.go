package cli

import (
	"context"
	"net/http"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/converse"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

// spoken is a wire with the builder of its replies.
type spoken struct {
	name  string
	build providertest.Builder
	make  func(url string, client *http.Client) provider.Provider
}

// allWires are the five, each made as main makes it.
func allWires() []spoken {
	key := func(context.Context) (string, error) { return "sk-test", nil }
	return []spoken{
		{"anthropic", providertest.Anthropic, func(url string, c *http.Client) provider.Provider {
			return &anthropic.Provider{Server: provider.Server{Name: "anthropic", BaseURL: url, Key: key, HTTP: c,
				Local: true}}
		}},
		{"chat", providertest.Chat, func(url string, c *http.Client) provider.Provider {
			return &openai.Chat{Server: provider.Server{Name: "compatible", BaseURL: url + "/v1", Key: key, HTTP: c,
				Local: true}, Quirks: openai.QuirksFor("compatible")}
		}},
		{"responses", providertest.Responses, func(url string, c *http.Client) provider.Provider {
			return &openai.Responses{Server: provider.Server{Name: "openai", BaseURL: url + "/v1", Key: key,
				HTTP: c, Local: true}}
		}},
		{"gemini", providertest.Gemini, func(url string, c *http.Client) provider.Provider {
			return &gemini.Provider{Server: provider.Server{Name: "gemini", BaseURL: url, Key: key, HTTP: c, Local: true}}
		}},
		{"ollama", providertest.Ollama, func(url string, c *http.Client) provider.Provider {
			return &ollama.Provider{Server: provider.Server{Name: "ollama", BaseURL: url, Key: key, HTTP: c, Local: true}}
		}},
		{"converse", providertest.Converse, func(url string, c *http.Client) provider.Provider {
			return &converse.Provider{Server: provider.Server{Name: "bedrock", BaseURL: url, Key: key, HTTP: c, Local: true}}
		}},
	}
}
