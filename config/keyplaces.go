package config

import (
	"context"
	"os"
	"strings"

	"artoo/provider"
)

// keyPlace is a place that holds a key, or is to give one.
type keyPlace struct {
	name string
	key  func(context.Context) (Key, error)
}

// KeyPlaces lists the places that hold a key for the named provider, or are to
// give one, in the order in which they count: "ARTOO_API_KEY", "keyring",
// "credentials", "OPENAI_API_KEY", "config.toml line 4", "api_key_command". It
// neither opens the keyring nor runs a command, and names no place that
// api_key_source leaves out. Errors are those of Key.
func (c *Config) KeyPlaces(name string) (names []string, err error) {
	places, err := c.keyPlaces(name)
	for _, p := range places {
		names = append(names, p.name)
	}
	return names, err
}

// keyPlaces are the places with their keys; with an error those before it.
func (c *Config) keyPlaces(name string) (places []keyPlace, err error) {
	if !c.IsProvider(name) {
		return nil, unknownProvider(name)
	}
	add := func(place string, key func(context.Context) (Key, error)) {
		places = append(places, keyPlace{place, key})
	}
	written := func(place, text string) {
		if strings.TrimSpace(text) != "" {
			add(place, func(context.Context) (Key, error) { return checkKey(text, place) })
		}
	}
	if c.Provider == "" || c.Provider == name {
		written(c.Origin("api_key"), c.APIKey.Reveal())
		if c.APIKeyFile != "" {
			add(c.Origin("api_key_file"), c.keyFromFile)
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
			written(placeCredentials, e.key.Reveal())
		case e.keyring:
			add(placeKeyring, func(ctx context.Context) (Key, error) { return c.keyFromKeyring(ctx, name) })
		}
	}
	if source == "auto" || source == "env" {
		for _, v := range c.keyVariables(name) {
			text, _ := os.LookupEnv(v)
			written(v, text)
		}
	}
	if source == "auto" || source == "config" {
		written(p.Origin, p.APIKey.Reveal())
	}
	if source == "command" && len(p.APIKeyCommand) > 0 {
		add(placeCommand, func(ctx context.Context) (Key, error) {
			run := func() (Key, error) { return c.runKeyCommand(ctx, name, p.APIKeyCommand) }
			return c.keys.once(ctx, placeCommand+" "+name, run)
		})
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
	return c.IsProvider(name) && f.Key != provider.KeyNever
}

// The places a key is found in that have no name of the user's.
const (
	placeCredentials = "credentials"
	placeKeyring     = "keyring"
	placeCommand     = "api_key_command"
)
