package cli

import (
	"os"
	"slices"
	"strings"

	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
)

// completedSessions is how many of the newest sessions a shell offers.
const completedSessions = 50

// complete is what the shell may offer for an option. It reads the config file
// and the heads of session files, never the network. What is wrong with the
// settings is not told here: the run that follows tells it.
func complete(inv Invocation, key string) []Candidate {
	switch cfg, _ := config.Load(config.LoadOptions{Flags: inv.Flags}); key {
	case "provider":
		return providerWords(cfg)
	case "model":
		return modelWords(cfg)
	case "resume":
		return sessionWords()
	}
	return nil
}

func providerWords(cfg *config.Config) []Candidate {
	names := provider.Names()
	if cfg != nil {
		for name := range cfg.Providers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var words []Candidate
	for _, name := range slices.Compact(names) {
		words = append(words, Candidate{Word: name})
	}
	return words
}

// modelWords are the models of the provider that is set; else those of all, with
// their providers.
func modelWords(cfg *config.Config) []Candidate {
	var words []Candidate
	if cfg != nil && cfg.Provider != "" {
		for _, m := range modelsOf(cfg, cfg.Provider, nil) {
			words = append(words, Candidate{Word: m.ID})
		}
		return words
	}
	if cfg == nil {
		cfg = new(config.Config)
	}
	for _, name := range provider.Names() {
		for _, m := range modelsOf(cfg, name, nil) {
			words = append(words, Candidate{Word: name + "/" + m.ID})
		}
	}
	return words
}

func sessionWords() []Candidate {
	dir, err := config.FindPaths(os.LookupEnv).Sessions()
	if err != nil {
		return nil
	}
	infos, err := conversation.Store{Dir: dir}.Recent(completedSessions)
	if err != nil {
		return nil
	}
	var words []Candidate
	for _, i := range infos {
		words = append(words, Candidate{Word: i.ID, Meaning: i.First})
	}
	return words
}

// number is a version that begins with three numbers, as those who compare
// versions expect: what a build without a tag says of itself comes behind 0.0.0.
func number(version string) string {
	version = strings.TrimPrefix(version, "v")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) == 3 && !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p[0] < '0' || p[0] > '9' }) {
		return version
	}
	version = strings.Trim(version, "()")
	if version == "" {
		version = "devel"
	}
	return "0.0.0-" + version
}
