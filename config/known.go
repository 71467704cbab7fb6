package config

import (
	"strings"

	"artoo/provider"
)

// keyVariables are the variables a provider's key may stand in, the first
// that is set wins: the one its table names, its own, or NAME_API_KEY.
func (c *Config) keyVariables(name string) []string {
	if v := c.Providers[name].APIKeyEnv; v != "" {
		return []string{v}
	}
	if f, _ := provider.FactsOf(name); len(f.KeyVars) > 0 {
		return f.KeyVars
	}
	return []string{strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_API_KEY"}
}
