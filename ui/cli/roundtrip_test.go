package cli

import (
	"cmp"
	"os"
	"testing"

	"artoo/config"
	"artoo/provider"
)

// TestEveryListedModelIsTakenByTheModelFlag: each name that `artoo models` prints works
// with -m, also if a file or a variable names another provider.
func TestEveryListedModelIsTakenByTheModelFlag(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, home)
	}
	t.Setenv("ARTOO_MODEL", "")
	t.Setenv("ARTOO_BASE_URL", "")
	listed, least := 0, 500
	sets := []string{"", "openrouter", "anthropic", "ollama", "demo"}
	if testing.Short() {
		sets, least = sets[:2], 200
	}
	for _, set := range sets {
		t.Setenv("ARTOO_PROVIDER", set)
		for _, name := range provider.Names() {
			for _, m := range (*provider.Catalog)(nil).Models(name) {
				listed++
				line := name + "/" + m.ID
				c, err := config.Load(config.LoadOptions{Environ: os.Environ(), Flags: map[string][]string{"model": {line}}})
				if err != nil {
					t.Fatal(err)
				}
				choice, err := c.Choose(config.Conditions{AtHand: []string{"openai", "anthropic"},
					Meant:   func(name, model string) string { return cmp.Or(model, provider.DefaultModel(name)) },
					Catalog: (*provider.Catalog)(nil).ProviderFor, Probe: func() string { return "" }})
				if err != nil || choice.Provider != name || choice.Model != m.ID {
					t.Errorf("with ARTOO_PROVIDER=%s, -m %s is taken as %q of %q, %v", set, line, choice.Model,
						choice.Provider, err)
				}
			}
		}
	}
	if listed < least {
		t.Errorf("only %d models were tried", listed)
	}
}
