package anthropic_test

import (
	"bytes"
	"testing"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/providertest"
)

func suite() providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			return &anthropic.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		},
		Build:    providertest.Anthropic,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireAnthropic, body) },
		Unmark: func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		},
		Stops: map[string]provider.StopReason{
			"end_turn": provider.StopComplete, "stop_sequence": provider.StopComplete, "novelty": provider.StopComplete,
			"max_tokens": provider.StopMaxTokens, "refusal": provider.StopRefusal, "pause_turn": provider.StopPause,
			"model_context_window_exceeded": provider.StopContext, "tool_use": provider.StopComplete,
		},
		EchoesReasoning: true,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, suite()) }

func FuzzAnthropicStream(f *testing.F) { providertest.FuzzStream(f, suite()) }
