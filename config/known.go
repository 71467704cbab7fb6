package config

import "strings"

// need says whether a provider wants a key.
type need int

const (
	keyRequired need = iota
	keyOptional      // a server that may want one
	keyNever         // nothing to send one to
)

// knownProvider is a provider artoo knows by name.
type knownProvider struct {
	name     string
	key      need
	keyVars  []string // the provider's own variables, the first that is set wins
	urlVar   string   // the variable its own tools take the address from
	families []string // what its model ids begin with
	probed   bool     // at hand when its server answers, whatever the settings say
	later    bool     // comes with a later version: never chosen by itself
}

// knownTable is in the order in which providers are listed to people.
func knownTable() []knownProvider {
	return []knownProvider{
		{name: "anthropic", keyVars: []string{"ANTHROPIC_API_KEY"}, urlVar: "ANTHROPIC_BASE_URL", families: []string{"claude-"}},
		{name: "openai", keyVars: []string{"OPENAI_API_KEY"}, urlVar: "OPENAI_BASE_URL", families: []string{"gpt-", "chatgpt-", "codex-"}},
		{name: "gemini", keyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, urlVar: "GOOGLE_GEMINI_BASE_URL", families: []string{"gemini-"}},
		{name: "deepseek", keyVars: []string{"DEEPSEEK_API_KEY"}, families: []string{"deepseek-"}},
		{name: "openrouter", keyVars: []string{"OPENROUTER_API_KEY"}},
		{name: "ollama", key: keyOptional, urlVar: "OLLAMA_HOST", probed: true},
		{name: "compatible", key: keyOptional},
		{name: "claude-cli", key: keyNever},
		{name: "codex-cli", key: keyNever},
		{name: "gemini-cli", key: keyNever},
		{name: "demo", key: keyNever},
	}
}

// KnownProviders are the names artoo knows without a config file, in the
// order in which they are listed to people.
func KnownProviders() []string {
	var names []string
	for _, k := range knownTable() {
		names = append(names, k.name)
	}
	return names
}

func findKnown(name string) (knownProvider, bool) {
	for _, k := range knownTable() {
		if k.name == name {
			return k, true
		}
	}
	return knownProvider{}, false
}

// keyVariables are the variables a provider's key may stand in, the first
// that is set wins: the one its table names, its own, or NAME_API_KEY.
func (c *Config) keyVariables(name string) []string {
	if v := c.Providers[name].APIKeyEnv; v != "" {
		return []string{v}
	}
	if k, ok := findKnown(name); ok && len(k.keyVars) > 0 {
		return k.keyVars
	}
	return []string{strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_API_KEY"}
}

// family is the provider whose models have ids like this one, "" for none. Open
// weights, and what Ollama tells apart by a tag as in deepseek-r1:8b, are served
// by anyone.
func family(model string) string {
	if strings.HasPrefix(model, "gpt-oss") || strings.Contains(model, ":") {
		return ""
	}
	for _, k := range knownTable() {
		for _, prefix := range k.families {
			if strings.HasPrefix(model, prefix) {
				return k.name
			}
		}
	}
	// OpenAI's reasoning models: o1, o3-mini, o4-mini …
	if len(model) > 1 && model[0] == 'o' && model[1] >= '1' && model[1] <= '9' && (len(model) == 2 || model[2] == '-') {
		return "openai"
	}
	return ""
}
