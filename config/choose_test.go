package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	const groq = "[provider.groq]\nbase_url = \"https://x.org\"\n[provider.groq.models.\"odd-model\"]\ncontext = 1\n"
	for _, test := range []struct {
		name, file string
		env        map[string]string
		atHand     string
		want       string // provider and model
		note       string
	}{
		{"provider and model", "", map[string]string{"ARTOO_PROVIDER": "openrouter",
			"ARTOO_MODEL": "anthropic/claude-x"}, "", "openrouter anthropic/claude-x", ""},
		{"provider alone", "", map[string]string{"ARTOO_PROVIDER": "openai"}, "anthropic", "openai openai-default", ""},
		{"known name before the slash", "", map[string]string{"ARTOO_MODEL": "openrouter/meta/llama"},
			"", "openrouter meta/llama", "from the model name"},
		{"own name before the slash", groq, map[string]string{"ARTOO_MODEL": "groq/llama"}, "", "groq llama",
			"from the model name"},
		{"catalogue", "", map[string]string{"ARTOO_MODEL": "listed"}, "openai gemini", "deepseek listed", "catalogue"},
		{"own table", groq, map[string]string{"ARTOO_MODEL": "odd-model"}, "openai", "groq odd-model",
			"config.toml line 1"},
		{"claude", "", map[string]string{"ARTOO_MODEL": "claude-opus-5"}, "openai", "anthropic claude-opus-5", "family"},
		{"gpt", "", map[string]string{"ARTOO_MODEL": "gpt-5"}, "", "openai gpt-5", "family"},
		{"o", "", map[string]string{"ARTOO_MODEL": "o3-mini"}, "", "openai o3-mini", "family"},
		{"gemini", "", map[string]string{"ARTOO_MODEL": "gemini-3"}, "", "gemini gemini-3", "family"},
		{"deepseek", "", map[string]string{"ARTOO_MODEL": "deepseek-chat"}, "", "deepseek deepseek-chat", "family"},
		{"new claude", "", map[string]string{"ARTOO_MODEL": "claude-opus-9-20280101"},
			"", "anthropic claude-opus-9-20280101", "family"},
		{"new gpt", "", map[string]string{"ARTOO_MODEL": "gpt-7"}, "", "openai gpt-7", "family"},
		{"codex", "", map[string]string{"ARTOO_MODEL": "codex-mini-latest"}, "", "openai codex-mini-latest", "family"},
		{"new gemini", "", map[string]string{"ARTOO_MODEL": "gemini-4-argon"}, "", "gemini gemini-4-argon", "family"},
		{"new deepseek", "", map[string]string{"ARTOO_MODEL": "deepseek-flash"}, "", "deepseek deepseek-flash", "family"},
		{"open weights", "", map[string]string{"ARTOO_MODEL": "gpt-oss-20b"}, "ollama", "ollama gpt-oss-20b", "only one"},
		{"a tag of Ollama's", "", map[string]string{"ARTOO_MODEL": "deepseek-r1:8b"},
			"ollama", "ollama deepseek-r1:8b", "only one"},
		{"o and no number", "", map[string]string{"ARTOO_MODEL": "o0x"}, "ollama", "ollama o0x", "only one"},
		{"unknown model, one at hand", "", map[string]string{"ARTOO_MODEL": "olmo"}, "ollama", "ollama olmo", "only one"},
		{"one at hand", "", nil, "gemini", "gemini gemini-default", "only one"},
		{"address alone", "", map[string]string{"ARTOO_BASE_URL": "http://localhost:1/v1",
			"ARTOO_MODEL": "openai/gpt-oss"}, "openai", "compatible openai/gpt-oss", "ARTOO_BASE_URL"},
		{"address alone and its provider's name", "", map[string]string{"ARTOO_BASE_URL": "http://localhost:1/v1",
			"ARTOO_MODEL": "compatible/my/model"}, "openai", "compatible my/model", "ARTOO_BASE_URL"},
		{"address alone and a model of the same place", "[provider]\nbase_url = \"http://localhost:1/v1\"\nmodel = \"openai/gpt-oss\"\n",
			nil, "openai", "compatible openai/gpt-oss", "config.toml"},
		{"demo", "", map[string]string{"ARTOO_PROVIDER": "demo"}, "", "demo demo-default", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := world(t)
			writeFile(t, 0o600, test.file, home, ".config", "artoo", "config.toml")
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			choice, err := mustLoad(t, LoadOptions{}).Choose(conditions(strings.Fields(test.atHand)))
			if err != nil {
				t.Fatal(err)
			}
			if got := choice.Provider + " " + choice.Model; got != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
			if (test.note == "") != (choice.Note == "") || !strings.Contains(choice.Note, test.note) {
				t.Errorf("note %q, want %q in it", choice.Note, test.note)
			}
		})
	}
}

// TestAProvidersNameAloneMeansItsDefaultModel holds also where another provider is the only one at hand.
func TestAProvidersNameAloneMeansItsDefaultModel(t *testing.T) {
	for name, want := range map[string]string{"gemini": "gemini gemini-default", "gemini/": "gemini gemini-default",
		"openrouter/auto": "openrouter openrouter/auto"} {
		world(t)
		t.Setenv("ARTOO_MODEL", name)
		choice, err := mustLoad(t, LoadOptions{}).Choose(conditions([]string{"openai"}))
		if got := choice.Provider + " " + choice.Model; err != nil || got != want {
			t.Errorf("%s: chose %q, want %q; %v", name, got, want, err)
		}
		if !strings.Contains(choice.Note, "from the model name "+name) {
			t.Errorf("%s: note %q", name, choice.Note)
		}
	}
}

// TestAProviderBeforeTheModelBeatsAWeakerSource, as any setting does; beside its
// provider a model is taken verbatim.
func TestAProviderBeforeTheModelBeatsAWeakerSource(t *testing.T) {
	const file = "[provider]\nprovider = \"openrouter\"\nmodel = \"anthropic/claude-x\"\nbase_url = \"https://or.example/v1\"\n" +
		"[provider.groq]\nbase_url = \"https://x.org\"\n"
	for _, test := range []struct {
		name  string
		env   map[string]string
		flags map[string][]string
		want  string // provider, model and address
		note  string
	}{
		{"both in one place", nil, nil, "openrouter anthropic/claude-x https://or.example/v1", ""},
		{"a flag over the file", nil, map[string][]string{"model": {"openai/gpt-5"}}, "openai gpt-5 ",
			"provider openai, because the model openai/gpt-5 of --model names it; to ask openrouter, write openrouter/openai/gpt-5"},
		{"a variable over the file", map[string]string{"ARTOO_MODEL": "groq/llama"}, nil, "groq llama ", "ARTOO_MODEL"},
		{"a flag over a variable", map[string]string{"ARTOO_PROVIDER": "deepseek", "ARTOO_API_KEY": "k"},
			map[string][]string{"model": {"gemini/gemini-3"}}, "gemini gemini-3 ", "--model"},
		{"a flag over a model and provider in variables", map[string]string{"ARTOO_PROVIDER": "deepseek",
			"ARTOO_MODEL": "x/y"}, map[string][]string{"model": {"ollama/qwen3:8b"}}, "ollama qwen3:8b ", "--model"},
		{"the provider itself", nil, map[string][]string{"model": {"openrouter/openai/gpt-5"}},
			"openrouter openai/gpt-5 https://or.example/v1", ""},
		{"a model of the router's own", nil, map[string][]string{"model": {"openrouter/auto"}},
			"openrouter openrouter/auto https://or.example/v1", ""},
		{"the same as artoo models prints it", nil, map[string][]string{"model": {"openrouter/openrouter/auto"}},
			"openrouter openrouter/auto https://or.example/v1", ""},
		{"a provider's name alone", nil, map[string][]string{"model": {"gemini"}}, "gemini gemini-default ",
			"because the model gemini of --model names it; to ask openrouter, write openrouter/gemini"},
		{"a vendor that is no provider", nil, map[string][]string{"model": {"meta/llama"}},
			"openrouter meta/llama https://or.example/v1", ""},
		{"two flags", nil, map[string][]string{"provider": {"openrouter"}, "model": {"openai/gpt-5"}},
			"openrouter openai/gpt-5 https://or.example/v1", ""},
		{"a provider over a model", map[string]string{"ARTOO_MODEL": "openai/gpt-5"},
			map[string][]string{"provider": {"openrouter"}}, "openrouter openai/gpt-5 https://or.example/v1", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := world(t)
			writeFile(t, 0o600, file, home, ".config", "artoo", "config.toml")
			for name, value := range test.env {
				t.Setenv(name, value)
			}
			c := mustLoad(t, LoadOptions{Flags: test.flags})
			choice, err := c.Choose(conditions(nil))
			if err != nil {
				t.Fatal(err)
			}
			if got := choice.Provider + " " + choice.Model + " " + c.BaseURL; got != test.want {
				t.Errorf("chose %q, want %q", got, test.want)
			}
			if (test.note == "") != (choice.Note == "") || !strings.Contains(choice.Note, test.note) {
				t.Errorf("note %q, want %q in it", choice.Note, test.note)
			}
			if !c.APIKey.IsZero() {
				t.Error("the key of one provider goes to another")
			}
		})
	}
}

// TestAProviderBeforeTheModelBeatsAnAddressAlone: the address means a provider of its
// own, and neither it nor the key beside it is for another one.
func TestAProviderBeforeTheModelBeatsAnAddressAlone(t *testing.T) {
	for _, test := range []struct{ model, want, note string }{
		{"anthropic/claude-x", "anthropic claude-x ", "to ask compatible, write compatible/anthropic/claude-x"},
		{"compatible/openai/gpt-oss", "compatible openai/gpt-oss http://localhost:1/v1", ""},
		{"meta/llama", "compatible meta/llama http://localhost:1/v1", "ARTOO_BASE_URL"},
	} {
		world(t)
		t.Setenv("ARTOO_BASE_URL", "http://localhost:1/v1")
		t.Setenv("ARTOO_API_KEY", "k")
		c := mustLoad(t, LoadOptions{Flags: map[string][]string{"model": {test.model}}})
		choice, err := c.Choose(conditions(nil))
		if err != nil {
			t.Fatal(err)
		}
		if got := choice.Provider + " " + choice.Model + " " + c.BaseURL; got != test.want {
			t.Errorf("chose %q, want %q", got, test.want)
		}
		if !strings.Contains(choice.Note, test.note) || c.APIKey.IsZero() != (choice.Provider == "anthropic") {
			t.Errorf("%s: note %q, key %v", test.model, choice.Note, !c.APIKey.IsZero())
		}
	}
}

func conditions(atHand []string) Conditions {
	return Conditions{
		AtHand: atHand,
		Meant: func(provider, model string) string {
			if model != "" || provider == "compatible" || provider == "ollama" {
				return model
			}
			return provider + "-default"
		},
		Catalog: func(model string) string {
			if model == "listed" {
				return "deepseek"
			}
			return ""
		},
	}
}

func TestChooseErrors(t *testing.T) {
	world(t)
	_, err := mustLoad(t, LoadOptions{}).Choose(conditions(nil))
	wantError(t, err, "auth", "no key is set", "artoo login")
	none := (*NoProvider)(nil)
	if !errors.As(err, &none) {
		t.Fatalf("%T", err)
	}
	for _, way := range []string{"ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "ARTOO_BASE_URL", "artoo demo"} {
		if !strings.Contains(strings.Join(none.Ways, "\n"), way) {
			t.Errorf("%q lack %s", none.Ways, way)
		}
	}

	_, err = mustLoad(t, LoadOptions{}).Choose(conditions([]string{"openai", "gemini"}))
	wantError(t, err, "usage", "several are set up: openai, gemini", "--provider openai")
	var several *SeveralProviders
	if !errors.As(err, &several) || len(several.Names) != 2 {
		t.Errorf("%T", err)
	}

	t.Setenv("ARTOO_BASE_URL", "http://localhost:1/v1")
	_, err = mustLoad(t, LoadOptions{}).Choose(conditions(nil))
	wantError(t, err, "usage", "compatible: no model chosen", "ARTOO_MODEL")

	t.Setenv("ARTOO_BASE_URL", "")
	t.Setenv("ARTOO_API_KEY", "x")
	_, err = mustLoad(t, LoadOptions{}).Choose(conditions(nil))
	wantError(t, err, "usage", "but not its provider", "ARTOO_PROVIDER")
}

// TestProbe: a server is looked for when nothing else decides, and only then.
func TestProbe(t *testing.T) {
	world(t)
	for _, test := range []struct {
		name   string
		env    string
		atHand []string
		found  string
		asked  bool
		want   string // the provider, or the text of the error
	}{
		{"nothing else", "", nil, "ollama", true, "ollama"},
		{"nobody answers", "", nil, "", true, "no key is set"},
		{"a model of no family", "ARTOO_MODEL=olmo", nil, "ollama", true, "ollama"},
		{"one key", "", []string{"openai"}, "ollama", false, "openai"},
		{"two keys", "", []string{"openai", "gemini"}, "ollama", false, "several"},
		{"a provider", "ARTOO_PROVIDER=openai", nil, "ollama", false, "openai"},
		{"a family", "ARTOO_MODEL=gpt-5", nil, "ollama", false, "openai"},
		{"an address", "ARTOO_BASE_URL=http://localhost:1", nil, "ollama", false, "compatible"},
		{"a key of nobody's", "ARTOO_API_KEY=k", nil, "ollama", false, "but not its provider"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("ARTOO_MODEL", "m")
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			} else {
				t.Setenv("ARTOO_MODEL", "")
			}
			asked := false
			s := conditions(test.atHand)
			s.Meant = func(string, string) string { return "default" }
			s.Probe = func() string { asked = true; return test.found }
			choice, err := mustLoad(t, LoadOptions{}).Choose(s)
			got := choice.Provider
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) || asked != test.asked {
				t.Errorf("%q, asked %v; want %q, %v", got, asked, test.want, test.asked)
			}
		})
	}
}

func TestAtHand(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, `
[provider.box]
base_url = "http://localhost:1"
[provider.deepseek]
api_key_command = "exit 1"
[provider.gemini]
api_key_source = "keyring"
[provider.openai]
api_key_source = "config"
[provider.openrouter]
api_key = "k"
`, home, ".config", "artoo", "config.toml")
	for _, v := range []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"} {
		t.Setenv(v, "k")
	}
	t.Setenv("ARTOO_API_KEY", "k")       // a key of any provider
	t.Setenv("ARTOO_API_KEY_FILE", "/k") // too
	t.Setenv("OLLAMA_HOST", "127.0.0.1") // names an address, not a running server
	got, err := mustLoad(t, LoadOptions{}).AtHand()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"anthropic", "deepseek", "openrouter", "box"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEndpoint(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600,
		"[provider.openai]\nbase_url = \"http://table\"\n[provider]\nbase_url = \"http://general\"\nprovider = \"openai\"\n", home, ".config", "artoo", "config.toml")
	check := func(name, address, source string) {
		t.Helper()
		a, s, err := mustLoad(t, LoadOptions{}).Endpoint(name)
		if a != address || s != source || err != nil {
			t.Errorf("%s is at %q from %q (%v), want %q from %q", name, a, s, err, address, source)
		}
	}
	check("openai", "http://general", "config.toml line 4")
	check("anthropic", "", "")
	t.Setenv("OPENAI_BASE_URL", "http://variable")
	check("openai", "http://variable", "OPENAI_BASE_URL")
	t.Setenv("ARTOO_BASE_URL", "http://own")
	check("openai", "http://own", "ARTOO_BASE_URL")
	t.Setenv("OLLAMA_HOST", "0.0.0.0")
	check("ollama", "0.0.0.0", "OLLAMA_HOST")
	t.Setenv("ANTHROPIC_BASE_URL", "nonsense")
	_, _, err := mustLoad(t, LoadOptions{}).Endpoint("anthropic")
	wantError(t, err, "usage", "ANTHROPIC_BASE_URL: is not an address")
}

// TestAModelOfTwoTablesNamesNoProvider leaves it open which of them is meant.
func TestAModelOfTwoTablesNamesNoProvider(t *testing.T) {
	const one = "[provider.a]\nbase_url = \"http://a.example\"\nmodels.mine.context = 1000\n"
	for file, want := range map[string]string{
		one: "a", one + "[provider.b]\nbase_url = \"http://b.example\"\nmodels.mine.context = 1000\n": "",
	} {
		home := world(t)
		writeFile(t, 0o600, file, home, ".config", "artoo", "config.toml")
		t.Setenv("ARTOO_MODEL", "mine")
		if choice, err := mustLoad(t, LoadOptions{}).Choose(conditions(nil)); choice.Provider != want || (err == nil) != (want != "") {
			t.Errorf("chose %q, %v; want %q", choice.Provider, err, want)
		}
	}
}
