// Package registry makes the providers: a constructor for each row of
// provider.Known. The program that wires everything is the only one to import it;
// all others tell providers apart by their provider.Facts.
package registry

import (
	"context"
	"time"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/cli"
	"artoo/provider/demo"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
)

// Settings are what providers are made of; each takes what it can use.
type Settings struct {
	provider.Server
	Window int                                        // see ollama.Provider
	Pace   func(ctx context.Context, d time.Duration) // see demo.Provider
	CLI    *cli.CLI                                   // a coding CLI, complete except for its name
}

// New makes the provider of that name, on the wire that the settings name for it.
// One that is not known is a server with Chat Completions.
func New(s Settings) provider.Provider {
	switch s.Wire {
	case provider.WireMessages:
		return &anthropic.Provider{Server: s.Server}
	case provider.WireResponses:
		return &openai.Responses{Server: s.Server}
	case provider.WireGemini:
		return &gemini.Provider{Server: s.Server}
	case provider.WireChat:
		return compatible(s)
	}
	if construct, ok := constructors()[s.Name]; ok {
		return construct(s)
	}
	return compatible(s)
}

// Address is where the provider's server is, given the address that the settings
// name; "" where none is named and the provider's own counts.
func Address(name, named string) string {
	if f, _ := provider.FactsOf(name); f.Local != nil {
		return ollama.Address(named)
	}
	return named
}

// Host is the server of the user's own models, nil for a provider that has none.
func Host(s provider.Server) provider.LocalHost {
	host, _ := New(Settings{Server: s}).(provider.LocalHost)
	return host
}

func constructors() map[string]func(Settings) provider.Provider {
	return map[string]func(Settings) provider.Provider{
		"anthropic":  func(s Settings) provider.Provider { return &anthropic.Provider{Server: s.Server} },
		"openai":     openAI,
		"gemini":     func(s Settings) provider.Provider { return &gemini.Provider{Server: s.Server} },
		"deepseek":   compatible,
		"openrouter": compatible,
		"ollama": func(s Settings) provider.Provider {
			return &ollama.Provider{Server: s.Server,
				Window: s.Window}
		},
		provider.Compatible: compatible,
		cli.ClaudeName:      codingCLI,
		cli.CodexName:       codingCLI,
		cli.GeminiName:      codingCLI,
		demo.Name:           func(s Settings) provider.Provider { return &demo.Provider{Pace: s.Pace} },
	}
}

// openAI asks OpenAI itself through Responses, and whoever else calls itself so
// as a server of its address is asked.
func openAI(s Settings) provider.Provider {
	if openai.SpeaksResponses(s.BaseURL) {
		return &openai.Responses{Server: s.Server}
	}
	return compatible(s)
}

func compatible(s Settings) provider.Provider {
	return &openai.Chat{Server: s.Server, Quirks: openai.QuirksAt(s.Name, s.BaseURL)}
}

func codingCLI(s Settings) provider.Provider {
	s.CLI.Name = s.Name
	return s.CLI
}
