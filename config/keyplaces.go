package config

import (
	"strings"

	"artoo/provider"
)

// KeyPlaces lists the places that hold a key for the named provider, or are to
// give one, in the order in which they count: "ARTOO_API_KEY", "keyring",
// "credentials", "OPENAI_API_KEY", "config.toml line 4", "api_key_command". It
// neither opens the keyring nor runs a command, and names no place that
// api_key_source leaves out. Errors are those of Key.
func (c *Config) KeyPlaces(name string) ([]string, error) {
	if !c.isProvider(name) {
		return nil, unknownProvider(name)
	}
	var places []string
	if c.Provider == "" || c.Provider == name {
		if !c.APIKey.IsZero() {
			places = append(places, c.Origin("api_key"))
		}
		if c.APIKeyFile != "" {
			places = append(places, c.Origin("api_key_file"))
		}
	}
	source := c.keySource(name)
	p := c.Providers[name]
	if source == "auto" || source == "keyring" {
		e, err := c.stored(name)
		switch {
		case err != nil:
			return places, err
		case source == "auto" && !e.key.IsZero():
			places = append(places, placeCredentials)
		case e.keyring:
			places = append(places, placeKeyring)
		}
	}
	if source == "auto" || source == "env" {
		for _, v := range c.keyVariables(name) {
			if text, _ := c.lookup(v); strings.TrimSpace(text) != "" {
				places = append(places, v)
			}
		}
	}
	if (source == "auto" || source == "config") && !p.APIKey.IsZero() {
		places = append(places, p.Origin)
	}
	if source == "command" && len(p.APIKeyCommand) > 0 {
		places = append(places, placeCommand)
	}
	return places, nil
}

// UsesStored says whether the provider's api_key_source looks at what login
// stores, and if not, what it says instead.
func (c *Config) UsesStored(name string) (bool, string) {
	source := c.keySource(name)
	if source == "auto" || source == "keyring" {
		return true, ""
	}
	return false, c.Providers[name].Origin + " takes the key from the source " + source
}

// NeedsKey says whether the named provider is one that a key can be stored
// for: all but the demo and the coding CLIs, which log in by themselves.
func (c *Config) NeedsKey(name string) bool {
	f, _ := provider.FactsOf(name)
	return c.isProvider(name) && f.Key != provider.KeyNever
}

// The places a key is found in that have no name of the user's.
const (
	placeCredentials = "credentials"
	placeKeyring     = "keyring"
	placeCommand     = "api_key_command"
)
