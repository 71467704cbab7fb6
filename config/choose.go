package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"artoo/provider"
)

// Choice is the provider and model the settings mean.
type Choice struct {
	Provider string
	Model    string
	// Note says in one line how the provider was found, "" when the user
	// named it by a setting of its own.
	Note string
}

// Conditions hold facts that Choose needs besides the settings. It calls the funcs on its own goroutine.
type Conditions struct {
	// AtHand are the providers that could be used at once: those of Config.AtHand.
	AtHand []string
	// Probe names the provider of a model server that answers, "" for none. It is called only
	// when nothing else decides. It may be nil.
	Probe func() string
	// Meant is the model of a provider that a name means, "" for its default; "" if there is none.
	Meant func(provider, model string) string
	// Catalog is the provider whose catalogue lists the model, "" for none. It may be nil.
	Catalog func(model string) string
}

// Choose decides provider and model from settings and conditions alone. Errors: *SeveralProviders and
// *NoProvider, which a front end with a user may answer, and *Error.
func (c *Config) Choose(s Conditions) (Choice, error) {
	if c.Provider != "" {
		return s.withModel(Choice{Provider: c.Provider, Model: c.Model, Note: c.switched})
	}
	if c.BaseURL != "" {
		const name = provider.Compatible
		note := "provider " + name + ", since " + c.Origin("base_url") + " is set"
		return s.withModel(Choice{Provider: name, Model: strings.TrimPrefix(c.Model, name+"/"), Note: note})
	}
	if c.Model != "" {
		if choice, ok := c.byModel(s); ok {
			return s.withModel(choice)
		}
	}
	switch len(s.AtHand) {
	case 1:
		name := s.AtHand[0]
		return s.withModel(Choice{Provider: name, Model: c.Model, Note: "provider " + name + ", the only one set up"})
	case 0:
		if !c.APIKey.IsZero() || c.APIKeyFile != "" {
			return Choice{}, wrong(kindUsage, "provider", "a key is given, but not its provider",
				"--provider NAME or ARTOO_PROVIDER: "+orList(keyed(func(f provider.Facts) string { return f.Name })))
		}
		if s.Probe != nil {
			if name := s.Probe(); name != "" {
				return s.withModel(Choice{Provider: name, Model: c.Model,
					Note: "provider " + name + ", whose server answers"})
			}
		}
		return Choice{}, noProvider()
	}
	return Choice{}, NewSeveralProviders(s.AtHand)
}

// With is the settings with the choice made: ARTOO_API_KEY and ARTOO_BASE_URL then count for its
// provider only.
func (c *Config) With(choice Choice) *Config {
	made := *c
	made.Provider, made.Model = choice.Provider, choice.Model
	return &made
}

// Named is the meaning of a model's name that begins with a provider's. The provider's name alone leaves the
// model "", which stands for its usual one. A router's own models keep its name, which is their vendor's, too.
func (c *Config) Named(name string) (choice Choice, ok bool) {
	first, rest, _ := strings.Cut(name, "/")
	if f, _ := provider.FactsOf(first); f.VendorModels && rest != "" && !strings.Contains(rest, "/") {
		rest = name
	}
	return Choice{Provider: first, Model: rest}, c.IsProvider(first)
}

// byModel finds the provider a model id alone means.
func (c *Config) byModel(s Conditions) (Choice, bool) {
	if named, ok := c.Named(c.Model); ok {
		named.Note = "provider " + named.Provider + ", from the model name " + c.Model
		return named, true
	}
	name, why := "", ""
	if s.Catalog != nil {
		name, why = s.Catalog(c.Model), ", whose catalogue has "
	}
	if name == "" {
		name = lister(c.Providers, c.Model)
		why = ", whose models in " + c.Providers[name].Origin + " have "
	}
	if name == "" {
		name, why = provider.FamilyOf(c.Model), ", whose model family includes "
	}
	return Choice{Provider: name, Model: c.Model, Note: "provider " + name + why + c.Model}, name != ""
}

// lister is the one provider whose table describes the model.
func lister(providers map[string]ProviderTable, model string) string {
	found := ""
	for _, name := range slices.Sorted(maps.Keys(providers)) {
		if _, ok := providers[name].Models[model]; !ok {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// withModel fills in the provider's default model. Where there is none, the provider stands beside the error.
func (s Conditions) withModel(choice Choice) (Choice, error) {
	if choice.Model = s.Meant(choice.Provider, choice.Model); choice.Model == "" {
		return choice, wrong(kindUsage, choice.Provider, "no model chosen, and this provider has no default",
			"-m "+choice.Provider+"/MODEL or ARTOO_MODEL="+choice.Provider+"/MODEL")
	}
	return choice, nil
}

// AtHand are the providers whose key is at hand, and servers with an address in the settings, in the
// order of provider.Known and then by name. It runs and asks nothing. Coding CLIs and the demo must be
// asked for.
func (c *Config) AtHand() ([]string, error) {
	var names []string
	for _, f := range provider.Known() {
		if f.Local != nil || f.Cloud != nil { // a cloud is at hand where a table has its address
			continue
		}
		ok, err := c.atHand(f.Name, f.Key)
		if err != nil {
			return nil, err
		}
		if ok {
			names = append(names, f.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		if f, isKnown := provider.FactsOf(name); !isKnown || f.Cloud != nil {
			names = append(names, name)
		}
	}
	return names, nil
}

func (c *Config) atHand(name string, key provider.KeyNeed) (bool, error) {
	switch key {
	case provider.KeyNever:
		return false, nil
	case provider.KeyOptional:
		address, _, err := c.Endpoint(name)
		return address != "", err
	}
	places, err := c.KeyPlaces(name)
	for _, place := range places {
		// Where no provider is chosen, the general key could be of any provider.
		if place != c.Origin("api_key") && place != c.Origin("api_key_file") {
			return true, err
		}
	}
	return false, err
}

// keyed are the names that a func finds in the providers that want a key.
func keyed(name func(provider.Facts) string) []string {
	var names []string
	for _, f := range provider.Known() {
		if f.Key == provider.KeyRequired {
			names = append(names, name(f))
		}
	}
	return names
}

// SeveralProviders says that more than one provider could be meant.
type SeveralProviders struct {
	*plain
	Names []string
}

// NewSeveralProviders is the error that lists these providers.
func NewSeveralProviders(names []string) *SeveralProviders {
	return &SeveralProviders{Names: names, plain: wrong(kindUsage, "provider", "several are set up: "+strings.Join(names, ", "),
		fmt.Sprintf("--provider %s, ARTOO_PROVIDER=%[1]s, or provider = %[1]q under [provider] in config.toml", names[0]))}
}

// NoProvider says that there is nothing to talk to.
type NoProvider struct {
	*plain
	Ways []string // how to begin, one line each, for a page shown to a newcomer
}

func noProvider() *NoProvider {
	var servers []string
	for _, f := range provider.Known() {
		if f.Local != nil {
			servers = append(servers, f.Local.Title)
		}
	}
	ways := []string{
		"artoo login, which asks for an API key and stores it",
		"set " + orList(keyed(func(f provider.Facts) string { return f.KeyVars[0] })),
		"start " + orList(servers) + ", or set ARTOO_BASE_URL to a server such as http://localhost:8080/v1",
		"artoo demo, which needs neither",
	}
	return &NoProvider{wrong(kindAuth, "provider", "no key is set and no model server is named",
		"artoo login; artoo help connect shows the other ways"), ways}
}
