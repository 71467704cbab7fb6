package gemini_test

import (
	"testing"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/provider/providertest"
)

func suite() providertest.Wire {
	return providertest.Wire{
		New: func(c providertest.Config) provider.Provider {
			return &gemini.Provider{Server: provider.Server{Name: c.Name, BaseURL: c.URL, Key: c.Key, HTTP: c.HTTP,
				Idle: c.Idle, RequestTimeout: c.RequestTimeout, Local: c.Local}}
		},
		Keeps:    true, // proofs of reasoning
		Build:    providertest.Gemini,
		Validate: func(body []byte) error { return providertest.Validate(providertest.WireGemini, body) },
		Unmark:   func(body []byte) []byte { return body }, // the cache needs no marks
		Stops: map[string]provider.StopReason{
			"STOP": provider.StopComplete, "NOVELTY": provider.StopComplete, "MAX_TOKENS": provider.StopMaxTokens,
			"SAFETY": provider.StopRefusal, "RECITATION": provider.StopRefusal, "LANGUAGE": provider.StopRefusal,
			"BLOCKLIST":          provider.StopRefusal,
			"PROHIBITED_CONTENT": provider.StopRefusal, "SPII": provider.StopRefusal, "IMAGE_SAFETY": provider.StopRefusal,
		},
		Tells: func(u provider.Usage) provider.Usage {
			u.Input, u.CacheWrite = u.Input+u.CacheWrite, 0 // caches fill by themselves
			return u
		},
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, suite()) }

func FuzzGeminiStream(f *testing.F) { providertest.FuzzStream(f, suite()) }
