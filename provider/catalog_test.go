package provider

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	t.Parallel()
	models := Source{Name: "models.dev in @earendil-works/pi-ai 1.5.2", Date: "2026-11-10"}
	guess := Source{Name: FromGuess}
	haiku := ModelInfo{Provider: "anthropic", Name: "Claude Haiku 4.5", ContextFrom: models, PriceFrom: models, Context: 200_000, MaxOutput: 64_000,
		Price: &Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}, Images: true, Tools: true, Reasoning: true}
	unpriced := haiku
	unpriced.Price, unpriced.PriceFrom, unpriced.Provider = nil, Source{}, "openrouter"
	routed := ModelInfo{Provider: "openrouter", Name: "Anthropic: Claude Haiku 4.5", Context: 200_000, MaxOutput: 64_000,
		ContextFrom: models, PriceFrom: models,
		Price: &Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}, Images: true, Tools: true, Reasoning: true,
		Efforts: []string{"low", "medium", "high"}}
	gateway := unpriced
	gateway.Provider = "compatible"
	unknown := func(provider, name string, price *Price) ModelInfo {
		info := ModelInfo{Provider: provider, Name: name, Context: 128_000, MaxOutput: 8_192, Price: price,
			Tools: true, Guess: true, ContextFrom: guess}
		if price != nil {
			info.PriceFrom = Source{Name: FromNature}
		}
		return info
	}
	tests := []struct {
		provider, model string
		want            ModelInfo // ID is the model
		known           bool
	}{
		{"anthropic", "claude-haiku-4-5", haiku, true},
		{"anthropic", "claude-haiku-4-5-20251001", haiku, true},
		{"anthropic", "claude-haiku-4-5-latest", haiku, true},
		{"compatible", "eu.anthropic.claude-haiku-4-5-20251001-v1:0", gateway, true},
		{"compatible", "anthropic.claude-haiku-4-5-v1", gateway, true},
		{"compatible", "claude-haiku-4-5@20251001", gateway, true},
		{"", "claude-haiku-4-5", haiku, true},
		{"openrouter", "anthropic/claude-haiku-4.5", routed, true},
		{"openrouter", "anthropic/claude-haiku-4.5:nitro", unpriced, true},
		{"compatible", "claude-haiku-4-5", gateway, true},
		{"openai", "gpt-5.4-mini-2026-03-05", ModelInfo{Provider: "openai", Name: "GPT-5.4 mini", Context: 400_000,
			MaxOutput: 128_000, ContextFrom: models, PriceFrom: models,
			Price: &Price{Input: 0.75, Output: 4.5, CacheRead: 0.075}, Images: true, Tools: true, Reasoning: true, Patches: true,
			Efforts: []string{"none", "low", "medium", "high", "xhigh"}}, true},
		{"openai", "gpt-5-nano-2025-08-07", ModelInfo{Provider: "openai", Name: "GPT-5 Nano", Context: 400_000,
			MaxOutput: 128_000, ContextFrom: models, PriceFrom: models,
			Price: &Price{Input: 0.05, Output: 0.4, CacheRead: 0.005}, Images: true, Tools: true, Reasoning: true, Patches: true,
			Efforts: []string{"minimal", "low", "medium", "high"}}, true},
		{"openrouter", "deepseek/deepseek-v4-pro:free",
			ModelInfo{Provider: "openrouter", Name: "DeepSeek V4 Pro", Context: 1_000_000, MaxOutput: 384_000,
				ContextFrom: models, PriceFrom: Source{Name: FromNature},
				Price: &Price{}, Tools: true, Reasoning: true, Efforts: []string{"high", "max"}}, true},
		{"demo", "demo", ModelInfo{Provider: "demo", Name: "the scripted demo", Context: 128_000, MaxOutput: 8_192,
			Price: &Price{}, PriceFrom: Source{Name: FromNature}, Tools: true}, true},
		{"openrouter", "moon/shot", unknown("openrouter", "moon/shot", nil), false},
		{"ollama", "qwen3:8b", unknown("ollama", "qwen3:8b", &Price{}), false},
		{"ollama", "glm:cloud", unknown("ollama", "glm:cloud", nil), false},
		{"openai", "brand-new", ModelInfo{Provider: "openai", Name: "brand-new", Context: 128_000, MaxOutput: 8_192,
			Images: true, Tools: true, Guess: true, ContextFrom: guess}, false},
		{"compatible", "", unknown("compatible", "", nil), false},
		{"anthropic", "claude-opus-9", ModelInfo{Provider: "anthropic", Name: "claude-opus-9", Context: 128_000,
			MaxOutput: 32_000, Images: true, Tools: true, Reasoning: true, Guess: true, ContextFrom: guess}, false},
		// another vendor's model under a known name is not that model
		{"openrouter", "openai/claude-haiku-4-5", ModelInfo{Provider: "openrouter", Name: "claude-haiku-4-5",
			Context: 128_000, MaxOutput: 32_000, Images: true, Tools: true, Reasoning: true, Guess: true, ContextFrom: guess}, false},
	}
	for _, tt := range tests {
		tt.want.ID = tt.model
		got, known := Lookup(tt.provider, tt.model)
		if diff := cmp.Diff(tt.want, got); diff != "" || known != tt.known {
			t.Errorf("Lookup(%q, %q): known %v (-want +got)\n%s", tt.provider, tt.model, known, diff)
		}
	}
}

func TestModelsOfTheGPTAndCodexFamiliesAreTrainedOnPatches(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"openai/gpt-5.6-terra": true, "openai/gpt-5.3-codex": true, "openai/codex-mini-latest": true, "openai/gpt-4.1": true,
		"openai/gpt-9": true, "openrouter/openai/gpt-5.2": true, "compatible/gpt-5.2": true,
		"openai/gpt-4o": false, "openai/o3": false, "ollama/gpt-oss:20b": false, "anthropic/claude-sonnet-5": false,
		"openrouter/google/gemini-3.7-flash": false, "compatible/my-model": false,
	} {
		provider, model, _ := strings.Cut(name, "/")
		if info, _ := Lookup(provider, model); info.Patches != want {
			t.Errorf("%s: %v", name, info.Patches)
		}
	}
	for _, m := range builtInModels("openai") {
		if info, _ := Lookup("openai", m.ID); info.Patches != m.Patches {
			t.Errorf("%s: %v in the list", m.ID, m.Patches)
		}
	}
}

func TestLookupHandsOutCopies(t *testing.T) {
	t.Parallel()
	info, _ := Lookup("openai", "gpt-5.5")
	info.Price.Input = 0
	if again, _ := Lookup("openai", "gpt-5.5"); again.Price.Input != 5 {
		t.Error("a caller changed the catalogue")
	}
	builtInModels("openai")[0].Price.Input = 0
	if again := builtInModels("openai")[0]; again.Price.Input == 0 {
		t.Error("a caller changed the catalogue's list")
	}
}

func builtInModels(provider string) []ModelInfo { return (*Catalog)(nil).Models(provider) }

// Each line of the table can be read, is found under its id, and has numbers in
// proportion.
func TestTableIsWhole(t *testing.T) {
	t.Parallel()
	for provider, least := range map[string]int{"anthropic": 15, "openai": 35, "gemini": 15, "deepseek": 3,
		"openrouter": 300} {
		lines := builtIn().lines[provider]
		if len(lines) < least {
			t.Errorf("%d models of %s", len(lines), provider)
		}
		for _, line := range lines {
			m, err := builtIn().parse(line)
			if err != nil {
				t.Error(err)
				continue
			}
			got, known := Lookup(provider, m.ID)
			own := provider != "openrouter" // OpenRouter passes on the price of any provider.
			switch p := m.Price; {
			case !known || got.Name != m.Name || m.MaxOutput > m.Context/2 || m.ContextFrom.Date == "":
				t.Errorf("%s: found %v, %+v", line, known, got)
			case p == nil:
			case m.PriceFrom.Date == "" || p.CacheRead > p.Input || own && (p.CacheRead > p.Input/2 || p.Input >= p.Output ||
				p.CacheWrite != 0 && p.CacheWrite < p.Input):
				t.Errorf("%s: price %+v", line, *p)
			case p.Equal(Price{}) && !strings.HasSuffix(m.ID, ":free"):
				t.Errorf("%s costs nothing", line)
			}
		}
	}
	for _, s := range (*Catalog)(nil).Sources() {
		if s.Name == "" || s.Date < "2026-10-01" {
			t.Errorf("source %+v", s)
		}
	}
	again, err := EncodeCatalog(slices.Concat(builtInModels("anthropic"), builtInModels("openai"), builtInModels("gemini"),
		builtInModels("deepseek"), builtInModels("openrouter")))
	if err != nil || again != table {
		t.Errorf("written again it is another table: %v", err)
	}
}

// These are the newest prices of models whose old ones made caps wrong.
func TestFactsAreThoseOfNovember2026(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Price{
		"anthropic/claude-opus-5-5":  {Input: 4, Output: 20, CacheRead: 0.2, CacheWrite: 5},
		"anthropic/claude-fable-5-1": {Input: 10, Output: 50, CacheRead: 0.25, CacheWrite: 12.5},
		"openai/gpt-5.6-sol": {Input: 4, Output: 20, CacheRead: 0.4, CacheWrite: 5, Tiers: []Tier{
			{272_000, Price{Input: 8, Output: 30, CacheRead: 0.8, CacheWrite: 10}}}},
		"openai/gpt-6-luna": {Input: 0.1, Output: 0.5, CacheRead: 0.01, CacheWrite: 0.125, Tiers: []Tier{
			{272_000, Price{Input: 0.2, Output: 0.75, CacheRead: 0.02, CacheWrite: 0.25}}}},
		"gemini/gemini-3.6-flash":       {Input: 0.75, Output: 3.75, CacheRead: 0.075},
		"gemini/gemini-3.8-flash":       {Input: 0.75, Output: 3.75, CacheRead: 0.075},
		"gemini/gemini-2.5-pro":         {Input: 1.25, Output: 10, CacheRead: 0.125, Tiers: []Tier{{200_000, Price{Input: 2.5, Output: 15, CacheRead: 0.25}}}},
		"deepseek/deepseek-v4-pro":      {Input: 1.32, Output: 3.96, CacheRead: 0.044},
		"deepseek/deepseek-flash":       {Input: 0.3, Output: 1.2, CacheRead: 0.006},
		"openrouter/openai/gpt-6-astra": {Input: 10, Output: 50, CacheRead: 1, CacheWrite: 12.5, Tiers: []Tier{{272_000, Price{Input: 20, Output: 75, CacheRead: 2, CacheWrite: 25}}}},
	} {
		provider, id, _ := strings.Cut(name, "/")
		info, known := Lookup(provider, id)
		if !known || info.Price == nil {
			t.Errorf("%s is not known", name)
		} else if diff := cmp.Diff(want, *info.Price); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
	for name, want := range map[string]int{"anthropic/claude-opus-4-6": 1_000_000, "anthropic/claude-sonnet-4-6": 1_000_000,
		"openai/gpt-6-sol": 1_050_000, "gemini/gemini-3.5-flash-lite": 1_048_576} {
		provider, id, _ := strings.Cut(name, "/")
		if info, _ := Lookup(provider, id); info.Context != want {
			t.Errorf("%s: window %d", name, info.Context)
		}
	}
}

// installed is a catalogue with these rows over the built-in ones.
const installed = "# artoo models 2\n# source\t2026-12-01\tlist\n" +
	"openai\tgpt-5.5\t[\"GPT-5.5\",2000000,128000,[[0,3,9,0.3,0],[300000,6,18,0.6,0],[900000,9,27,0.9,0]],true,true,[\"high\"],1,1]\n" +
	"openai\tgpt-9\t[\"GPT-9\",3000000,128000,null,false,false,null,1,0]\n" +
	"openai\to3\t[\"o3\",300000,128000,null,false,false,null,1,0]\n"

func TestInstalledFactsGoOverTheBuiltInOnes(t *testing.T) {
	t.Parallel()
	c, err := OpenCatalog(installed)
	if err != nil {
		t.Fatal(err)
	}
	list := Source{"list", "2026-12-01"}
	got, known := c.Lookup("openai", "gpt-5.5-2026-05-05")
	if !known || got.Context != 2_000_000 || got.Price.For(300_001).Input != 6 || got.Price.For(900_001).Input != 9 ||
		got.ContextFrom != list || got.PriceFrom != list {
		t.Errorf("%+v", got)
	}
	if got, known := c.Lookup("openai", "gpt-9"); !known || got.Price != nil || !got.Patches || c.ProviderFor("gpt-9") != "openai" {
		t.Errorf("%+v", got)
	}
	if got, _ := c.Lookup("openai", "o3"); got.Context != 300_000 || got.Price == nil || got.PriceFrom.Date != "2026-11-10" {
		t.Errorf("a price that the newer list does not give: %+v", got)
	}
	if got, known := c.Lookup("anthropic", "claude-opus-5-5"); !known || got.Price == nil {
		t.Errorf("%+v", got)
	}
	models := c.Models("openai")
	if n := len(builtInModels("openai")) + 1; len(models) != n || models[0].ID != "gpt-5.5" || models[0].Context != 2_000_000 {
		t.Errorf("%d models, %d expected; first %+v", len(models), n, models[0])
	}
	if s := c.Sources(); s[0] != list {
		t.Errorf("%+v", s)
	}
}

func TestHas(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"anthropic/claude-opus-5-5": true, "anthropic/claude-haiku-4-5-20251001": true,
		"openai/claude-opus-5-5": false, "compatible/gpt-5.5": false, "openrouter/openai/gpt-6-sol:nitro": true,
		"openrouter/openai/gpt-66": false, "gemini/gemini-flash-latest": true, "demo/demo": true} {
		provider, model, _ := strings.Cut(name, "/")
		if got := (*Catalog)(nil).Has(provider, model); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestFactsWithAFaultAreNotTaken(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][2]string{
		"other format":     {"models 2", "models 3"},
		"no source":        {"# source\t2026-12-01\tlist\n", ""},
		"no date":          {"2026-12-01", "yesterday"},
		"unknown source":   {"null,1,0]", "null,2,0]"},
		"cut off":          {"null,1,0]\n", "null"},
		"window":           {"3000000", "3e6"},
		"negative window":  {"3000000", "-3000000"},
		"absurd window":    {"3000000", "3000000000000"},
		"price":            {"[0,3,9", "[0,\"free\",9"},
		"negative price":   {"[0,3,9", "[0,-3,9"},
		"price of nothing": {"[0,3,9", "[0,0.00001,9"},
		"absurd price":     {"[0,3,9", "[0,3,1e300"},
		"price left out":   {"[0,3,9,0.3,0]", "[0,3,9,0.3]"},
		"tier":             {"[300000,6,18,0.6,0]", "[300000,6,18]"},
		"tiers in a mess":  {"900000,9", "200000,9"},
		"escape":           {"GPT-9", `GPT\u001b[2J`},
		"reply":            {"128000", "0"},
	} {
		if c, err := OpenCatalog(strings.Replace(installed, change[0], change[1], 1)); err == nil || c != nil {
			t.Errorf("%s: taken", name)
		}
	}
	for _, text := range []string{"", "{}", "# artoo models 2\n", "# artoo models 2\n# source\t2026-12-01\tlist\n"} {
		if _, err := OpenCatalog(text); err == nil {
			t.Errorf("%q: taken", text)
		}
	}
	if c, err := OpenCatalog(strings.Replace(installed, "2026-12-01", "2026-11-09", 1)); c != nil || err != nil {
		t.Errorf("older facts: %v, %v", c, err)
	}
}

func TestModelsThatSeeAreKnownByName(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]bool{"llava:13b": true, "Qwen/Qwen2.5-VL-72B": true, "qwen2.5vl:7b": true,
		"llama3.2-vision": true, "qwen3:8b": false, "devline": false} {
		if got, _ := Lookup("compatible", id); got.Images != want {
			t.Errorf("%s sees: %v", id, got.Images)
		}
	}
}

func TestDefaultModelsAreInTheCatalog(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"anthropic", "openai", "gemini", "deepseek", "openrouter", "demo"} {
		model := DefaultModel(provider)
		if info, known := Lookup(provider, model); !known || !info.Tools {
			t.Errorf("the default of %s is %q, which is not known", provider, model)
		}
		if provider != "openrouter" && len(builtInModels(provider)) == 0 {
			t.Errorf("%s lists no models", provider)
		}
	}
	for _, provider := range []string{"ollama", "compatible", "claude-cli", "mine"} {
		if model := DefaultModel(provider); model != "" {
			t.Errorf("the default of %s is %q", provider, model)
		}
	}
}

func TestProviderFor(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"claude-sonnet-5 claude-opus-5-20280101 claude-sonnet-4-5-latest":    "anthropic",
		"gpt-5.5 o3 o4-mini gpt-4o-2024-08-06":                               "openai",
		"gemini-3.7-flash gemini-2.5-pro gemini-4-argon gemini-flash-latest": "gemini",
		"deepseek-flash deepseek-v4-pro":                                     "deepseek",
		"demo":                                                               "demo",
		"llama3 qwen3:8b gpt-oss:20b olmo o o0 ollama/x openai/gpt-5.5 sonnet claude-opus-9 gpt-7 gemini-5-neon deepseek-chat": "",
	} {
		for model := range strings.FieldsSeq(list) {
			if got := (*Catalog)(nil).ProviderFor(model); got != want {
				t.Errorf("ProviderFor(%q) = %q, want %q", model, got, want)
			}
		}
	}
	if got := (*Catalog)(nil).ProviderFor(""); got != "" {
		t.Errorf("no model is from %q", got)
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	used := Usage{Input: 1_000_000, CacheRead: 2_000_000, CacheWrite: 100_000, Output: 10_000, Reasoning: 9_000}
	own := used
	own.CostUSD = new(0.5)
	tests := []struct {
		name  string
		usage Usage
		price *Price
		want  *float64
	}{
		{"by the table", used, &Price{Input: 2, Output: 10, CacheRead: 0.25, CacheWrite: 2.5}, new(2 + 0.5 + 0.25 + 0.1)},
		{"unknown cache prices are those of the input", used, &Price{Input: 2, Output: 10}, new(2 + 4 + 0.2 + 0.1)},
		{"the provider's word wins", own, &Price{Input: 2}, new(0.5)},
		{"also without a price", own, nil, new(0.5)},
		{"unknown", used, nil, nil},
		{"free", used, &Price{}, new(0.0)},
		{"a prompt in the tier", used, &Price{Input: 2, Output: 10, Tiers: []Tier{{3_099_999, Price{Input: 4, Output: 15, CacheRead: 1}}}},
			new(4 + 2 + 0.4 + 0.15)},
		{"a prompt below it", used, &Price{Input: 2, Output: 10, Tiers: []Tier{{3_100_000, Price{Input: 4, Output: 15}}}},
			new(2 + 4 + 0.2 + 0.1)},
	}
	for _, tt := range tests {
		got := Cost(tt.usage, tt.price)
		if diff := cmp.Diff(tt.want, got,
			cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
