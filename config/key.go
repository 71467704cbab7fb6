package config

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/provider"
)

// Key is a key and where it came from.
type Key struct {
	Value  Secret // zero when the provider works without
	Source string // "ARTOO_API_KEY", "config.toml line 7", "credentials"; "" without a key
}

// Key finds the key of the named provider: ARTOO_API_KEY and its file for the chosen provider, then by
// api_key_source. It may open the keyring and run the key command, once each in this run, for seconds,
// on any goroutine. The zero Key is for providers that need none, or may do without and have none.
// Errors are *Error of kind auth, or config for a source that cannot be used.
func (c *Config) Key(ctx context.Context, name string) (Key, error) {
	key, err := c.findKey(ctx, name)
	if err == nil {
		c.seen.add(key.Value.Reveal())
	}
	return key, err
}

func (c *Config) findKey(ctx context.Context, name string) (Key, error) {
	if c.IsProvider(name) && !c.NeedsKey(name) {
		return Key{}, nil
	}
	places, wrong := c.keyPlaces(name)
	var locked error
	for _, p := range places {
		key, err := p.key(ctx)
		if err == nil || ctx.Err() != nil || p.name != placeKeyring || c.keySource(name) != "auto" {
			return key, err
		}
		locked = err // a keyring that cannot be opened, as over ssh, is passed over
	}
	switch {
	case wrong != nil:
		return Key{}, wrong
	case locked != nil:
		return Key{}, locked
	}
	return Key{}, c.missingKey(name)
}

// The places a key is found in that have no name of the user's.
const (
	placeCredentials = "credentials"
	placeKeyring     = "keyring"
	placeCommand     = "api_key_command"
)

// keyPlace is a place that holds a key, or is to give one.
type keyPlace struct {
	name string
	key  func(context.Context) (Key, error)
}

// KeyPlaces lists the places that hold or give a key for the named provider, in the order in which they
// count: "ARTOO_API_KEY", "keyring", "credentials", "OPENAI_API_KEY", "config.toml line 4",
// "api_key_command". It opens and runs nothing, and leaves out the sources that api_key_source does. Errors
// are those of Key.
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
		entries, err := c.readCredentials()
		switch e := entries[name]; {
		case err != nil:
			return places, err
		case source == "auto" && e.Key != "":
			written(placeCredentials, e.Key)
		case e.Keyring:
			add(placeKeyring, func(ctx context.Context) (Key, error) { return c.keyFromKeyring(ctx, name) })
		}
	}
	if source == "auto" || source == "env" {
		for _, v := range c.keyVariables(name) {
			text := c.Environ.Get(v)
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

func unknownProvider(name string) error {
	return wrong(kindUsage, name, "unknown provider", orList(provider.Names()))
}

// KeyFromCommand reports whether only a command gives the provider's key.
func (c *Config) KeyFromCommand(name string) bool { return c.keySource(name) == "command" }

// keySource is how the provider's key is found: by its command where a table names only that.
func (c *Config) keySource(name string) string {
	p := c.Providers[name]
	switch {
	case p.APIKeySource != "":
		return p.APIKeySource
	case len(p.APIKeyCommand) > 0:
		return "command"
	}
	return "auto"
}

// keyFromKeyring opens the keyring, once for each provider.
func (c *Config) keyFromKeyring(ctx context.Context, name string) (Key, error) {
	return c.keys.once(ctx, placeKeyring+" "+name, func() (Key, error) {
		text, err := c.keyring.Get(ctx, name)
		if err != nil {
			if ctx.Err() != nil {
				return Key{}, err
			}
			return Key{}, because(kindAuth, name, "the key is in the keyring: "+err.Error(), err,
				"unlock the keyring, set "+c.keyVariables(name)[0]+", or artoo login "+name+" again")
		}
		return checkKey(text, placeKeyring)
	})
}

// keyCache remembers the keys of keyring and commands, so that each is asked once in a run.
type keyCache struct{ slots sync.Map } // holds chan *Key by name, each with a remembered key while no one asks

// once returns the remembered key, or asks. Callers wait for one another as long as their
// contexts last.
func (k *keyCache) once(ctx context.Context, name string, ask func() (Key, error)) (Key, error) {
	fresh := make(chan *Key, 1)
	fresh <- nil
	loaded, _ := k.slots.LoadOrStore(name, fresh)
	slot := loaded.(chan *Key)
	var kept *Key
	select {
	case kept = <-slot:
	case <-ctx.Done():
		return Key{}, context.Cause(ctx)
	}
	defer func() { slot <- kept }()
	if kept == nil {
		key, err := ask()
		if err != nil {
			return Key{}, err
		}
		kept = &key
	}
	return *kept, nil
}

// missingKey is the error that names the setting to make, nil where the provider may do without a key.
func (c *Config) missingKey(name string) error {
	vars, origin := c.keyVariables(name), c.Providers[name].Origin
	file := "set " + orList(vars) + ", or ARTOO_API_KEY_FILE to a file that holds the key"
	switch c.keySource(name) {
	case "command":
		return wrong(kindConfig, origin, "api_key_source is command, but there is no api_key_command",
			`api_key_command = "pass show `+name+`"`)
	case "keyring":
		return wrong(kindAuth, name, "no key: the keyring has none from artoo login", "artoo login "+name)
	case "config":
		return wrong(kindAuth, name, "no key: "+origin+" has no api_key", `api_key = "…" there, or api_key_source = "env"`)
	case "auto":
		if facts, _ := provider.FactsOf(name); facts.Key == provider.KeyOptional {
			return nil
		}
		file = "artoo login " + name + ", or " + file
	}
	are := " is not set"
	if len(vars) > 1 {
		are = " are not set"
	}
	return wrong(kindAuth, name, "no key: "+strings.Join(vars, " and ")+are, file)
}

// checkKey refuses a key that cannot stand in a header: it is a paste gone wrong.
func checkKey(text, source string) (Key, error) {
	text = strings.TrimSpace(text)
	for _, r := range text {
		if r <= ' ' || r >= 0x7f {
			return Key{}, wrong(kindAuth, source, "the key contains a space, a control or a non-ASCII character",
				"copy the key again, without quotes")
		}
	}
	return Key{Value: NewSecret(text), Source: source}, nil
}

// KeySource finds one provider's key and remembers it. Safe for concurrent use.
type KeySource struct {
	config *Config
	name   string

	mu    sync.Mutex
	found *Key
	at    time.Time // the time of the last find by Renew
}

// KeySource is where the named provider's key comes from.
func (c *Config) KeySource(name string) *KeySource { return &KeySource{config: c, name: name} }

// Key looks for the key when it is first called. An error is not remembered.
func (s *KeySource) Key(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found == nil {
		k, err := s.config.Key(ctx, s.name)
		if err != nil {
			return "", err
		}
		s.found = &k
	}
	return s.found.Value.Reveal(), nil
}

// Renew looks for the key again, after a server refused the one known at the time since, and reports
// whether there is another by now. Of several callers only the first looks.
func (s *KeySource) Renew(ctx context.Context, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.found != nil && s.at.After(since) {
		return true
	}
	s.config.keys.slots.Delete(placeCommand + " " + s.name)
	s.config.keys.slots.Delete(placeKeyring + " " + s.name)
	k, err := s.config.Key(ctx, s.name)
	if err != nil || s.found == nil || k.Value.Reveal() == s.found.Value.Reveal() {
		return false // the refusal itself says more than why no other was found
	}
	s.found, s.at = &k, time.Now()
	return true
}

// keyVariables are the variables a provider's key may stand in, the first that is set wins.
func (c *Config) keyVariables(name string) []string {
	if v := c.Providers[name].APIKeyEnv; v != "" {
		return []string{v}
	}
	f, _ := provider.FactsOf(name)
	return f.KeyVariables()
}

// KeyVariables are the variables that hold keys of any provider known or in the file. No child process
// may see them.
func (c *Config) KeyVariables() []string {
	names := provider.KeyVariables()
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		names = append(names, c.keyVariables(name)...)
	}
	return append(names, searchKeyVariables()...)
}

// Keep adds a secret to those that nothing may show. It may be called from any goroutine.
func (c *Config) Keep(secret string) { c.seen.add(secret) }

// leastKey is the length of a key that is looked for in texts: a shorter one is a dummy, like any word.
const leastKey = 16

// seenKeys are the keys that were found in this run.
type seenKeys struct {
	once sync.Once
	mu   sync.Mutex
	keys []string // the longest first
}

func (s *seenKeys) add(key string) {
	key = strings.TrimSpace(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(key) < leastKey || slices.Contains(s.keys, key) {
		return
	}
	s.keys = append(slices.Clone(s.keys), key) // a reader may hold the old list
	slices.SortFunc(s.keys, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

// SeenKeys are the keys that nothing may show, the longest first: those found so far, of the
// file, and of key variables. It opens and runs nothing, on any goroutine; the list is not to be
// changed. A Config that was not loaded has seen none.
func (c *Config) SeenKeys() []string {
	if c.seen == nil {
		return nil
	}
	c.seen.once.Do(func() {
		c.seen.add(c.APIKey.Reveal())
		for _, key := range []string{c.BraveAPIKey.Reveal(), c.TavilyAPIKey.Reveal(), c.usual("brave_api_key"), c.usual("tavily_api_key")} {
			c.seen.add(key)
		}
		for _, name := range c.ProviderNames() {
			c.seen.add(c.Providers[name].APIKey.Reveal())
			for _, value := range c.Providers[name].ExtraHeaders {
				if !strings.ContainsAny(value.Reveal(), " /") { // else it is a title or an address
					c.seen.add(value.Reveal())
				}
			}
			for _, v := range c.keyVariables(name) {
				text := c.Environ.Get(v)
				c.seen.add(text)
			}
		}
	})
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	return c.seen.keys
}
