// Package registry makes the providers: a constructor for each row of
// provider.Known. The program that wires everything is the only one to import it;
// all others distinguish providers by their provider.Facts.
package registry

import (
	"cmp"
	"context"
	"time"

	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/cli"
	"artoo/provider/converse"
	"artoo/provider/demo"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
)

// Settings hold the settings of all providers; each takes those it can use.
type Settings struct {
	provider.Server
	Window int                                        // see ollama.Provider
	Pace   func(ctx context.Context, d time.Duration) // see demo.Provider
	CLI    *cli.CLI                                   // a coding CLI, complete except for its name
}

// New makes the provider of that name, on the wire that the settings name for it.
// One that is not known is a server with Chat Completions.
func New(s Settings) provider.Provider {
	facts, _ := provider.FactsOf(s.Name)
	wire := cmp.Or(s.Wire, facts.Wire)
	if wire == "" {
		switch s.Name {
		case "openai":
			if openai.SpeaksResponses(s.BaseURL) { // another server of this name gets the wire of its address
				wire = provider.WireResponses
			}
		case "ollama":
			return &ollama.Provider{Server: s.Server, Window: s.Window}
		case demo.Name:
			return &demo.Provider{Pace: s.Pace}
		case cli.ClaudeName, cli.CodexName, cli.GeminiName:
			s.CLI.Name = s.Name
			return s.CLI
		}
	}
	switch wire {
	case provider.WireMessages:
		return &anthropic.Provider{Server: s.Server}
	case provider.WireResponses:
		return &openai.Responses{Server: s.Server}
	case provider.WireConverse:
		return &converse.Provider{Server: s.Server}
	case provider.WireGemini:
		return &gemini.Provider{Server: s.Server}
	}
	return &openai.Chat{Server: s.Server, Quirks: openai.QuirksAt(s.Name, s.BaseURL)}
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
