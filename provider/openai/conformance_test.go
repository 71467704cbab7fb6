package openai_test

import (
	"bytes"
	"testing"

	"artoo/provider"
	"artoo/provider/openai"
	"artoo/provider/providertest"
)

func suite(name string) providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			return &openai.Chat{Server: provider.Server{Name: c.Name, BaseURL: c.URL + "/v1", Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}, Quirks: openai.QuirksFor(name)}
		},
		Build:    providertest.Chat,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireChat, body) },
		Unmark: func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		},
		Stops: map[string]provider.StopReason{
			"stop": provider.StopComplete, "end_turn": provider.StopComplete, "eos": provider.StopComplete,
			"tool_calls": provider.StopComplete,
			"length":     provider.StopMaxTokens, "content_filter": provider.StopRefusal, "sensitive": provider.StopRefusal,
			"model_context_window_exceeded": provider.StopContext,
		},
		EchoesReasoning: name == "compatible" || name == "deepseek",
		Blind:           name == "deepseek",
	}
}

func TestConformance(t *testing.T) {
	for _, name := range []string{"openai", "openrouter", "deepseek", "compatible"} {
		t.Run(name, func(t *testing.T) { providertest.Run(t, suite(name)) })
	}
}

func FuzzChatStream(f *testing.F) { providertest.FuzzStream(f, suite("openrouter")) }

func responsesSuite() providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			return &openai.Responses{Server: provider.Server{Name: c.Name, BaseURL: c.URL + "/v1", Key: c.Key,
				HTTP: c.HTTP, Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		},
		Keeps:    true, // the items themselves
		Build:    providertest.Responses,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireResponses, body) },
		Unmark:   func(body []byte) []byte { return body },
		Stops: map[string]provider.StopReason{
			"completed": provider.StopComplete, "max_output_tokens": provider.StopMaxTokens,
			"content_filter": provider.StopRefusal, "novelty": provider.StopMaxTokens,
		},
		EchoesReasoning: true,
	}
}

func TestResponsesConformance(t *testing.T) { providertest.Run(t, responsesSuite()) }

func FuzzResponsesStream(f *testing.F) { providertest.FuzzStream(f, responsesSuite()) }
