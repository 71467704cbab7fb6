package converse_test

import (
	"bytes"
	"testing"

	"artoo/provider"
	"artoo/provider/converse"
	"artoo/provider/providertest"
)

func suite() providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			return &converse.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		},
		Build:    providertest.Converse,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireConverse, body) },
		Unmark: func(body []byte) []byte {
			return bytes.ReplaceAll(body, []byte(`,{"cachePoint":{"type":"default"}}`), nil)
		},
		Stops: map[string]provider.StopReason{
			"end_turn": provider.StopComplete, "stop_sequence": provider.StopComplete, "novelty": provider.StopComplete,
			"max_tokens": provider.StopMaxTokens, "content_filtered": provider.StopRefusal,
			"guardrail_intervened": provider.StopRefusal, "model_context_window_exceeded": provider.StopContext,
			"tool_use": provider.StopComplete,
		},
		Tells: func(u provider.Usage) provider.Usage {
			u.Reasoning = 0
			return u
		},
		EchoesReasoning: true,
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, suite()) }

func FuzzConverseStream(f *testing.F) { providertest.FuzzStream(f, suite()) }
