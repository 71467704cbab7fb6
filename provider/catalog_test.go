package provider

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup(t *testing.T) {
	haiku := ModelInfo{Provider: "anthropic", Name: "Claude Haiku 4.5", Context: 200_000, MaxOutput: 64_000,
		Price: &Price{1, 5, 0.1, 1.25}, Images: true, Tools: true, Reasoning: true}
	unpriced := haiku
	unpriced.Price, unpriced.Provider = nil, "openrouter"
	routed := ModelInfo{Provider: "openrouter", Name: "Anthropic: Claude Haiku 4.5", Context: 200_000, MaxOutput: 32_000,
		Price: &Price{1, 5, 0.1, 1.25}, Images: true, Tools: true, Reasoning: true,
		Efforts: []string{"low", "medium", "high"}}
	gateway := unpriced
	gateway.Provider = "compatible"
	unknown := func(provider, name string, price *Price) ModelInfo {
		return ModelInfo{Provider: provider, Name: name, Context: 128_000, MaxOutput: 8_192, Price: price,
			Tools: true, Guess: true}
	}
	tests := []struct {
		provider, model string
		want            ModelInfo // ID is the model
		known           bool
	}{
		{"anthropic", "claude-haiku-4-5", haiku, true},
		{"anthropic", "claude-haiku-4-5-20251001", haiku, true},
		{"anthropic", "claude-haiku-4-5-latest", haiku, true},
		{"", "claude-haiku-4-5", haiku, true},
		{"openrouter", "anthropic/claude-haiku-4.5", routed, true},
		{"openrouter", "anthropic/claude-haiku-4.5:nitro", unpriced, true},
		{"compatible", "claude-haiku-4-5", gateway, true},
		{"openai", "gpt-5.4-mini-2026-03-05", ModelInfo{Provider: "openai", Name: "GPT-5.4 mini", Context: 400_000,
			MaxOutput: 128_000,
			Price:     &Price{0.75, 4.5, 0.075, 0}, Images: true, Tools: true, Reasoning: true, Patches: true,
			Efforts: []string{"none", "low", "medium", "high", "xhigh"}}, true},
		{"openai", "gpt-5-nano-2025-08-07", ModelInfo{Provider: "openai", Name: "GPT-5 Nano", Context: 400_000,
			MaxOutput: 128_000,
			Price:     &Price{0.05, 0.4, 0.005, 0}, Images: true, Tools: true, Reasoning: true, Patches: true,
			Efforts: []string{"low", "medium", "high"}}, true},
		{"openrouter", "deepseek/deepseek-v4-pro:free",
			ModelInfo{Provider: "openrouter", Name: "DeepSeek V4 Pro", Context: 1_000_000, MaxOutput: 384_000,
				Price: &Price{}, Tools: true, Reasoning: true, Efforts: []string{"low", "high", "max"}}, true},
		{"demo", "demo", ModelInfo{Provider: "demo", Name: "the scripted demo", Context: 128_000, MaxOutput: 8_192,
			Price: &Price{}, Tools: true}, true},
		{"openrouter", "moon/shot", unknown("openrouter", "moon/shot", nil), false},
		{"ollama", "qwen3:8b", unknown("ollama", "qwen3:8b", &Price{}), false},
		{"ollama", "glm:cloud", unknown("ollama", "glm:cloud", nil), false},
		{"openai", "brand-new", ModelInfo{Provider: "openai", Name: "brand-new", Context: 128_000, MaxOutput: 8_192,
			Images: true, Tools: true, Guess: true}, false},
		{"compatible", "", unknown("compatible", "", nil), false},
		{"anthropic", "claude-opus-9", ModelInfo{Provider: "anthropic", Name: "claude-opus-9", Context: 128_000,
			MaxOutput: 32_000, Images: true, Tools: true, Reasoning: true, Guess: true}, false},
		// another vendor's model under a known name is not that model
		{"openrouter", "openai/claude-haiku-4-5", ModelInfo{Provider: "openrouter", Name: "claude-haiku-4-5",
			Context: 128_000, MaxOutput: 32_000, Images: true, Tools: true, Reasoning: true, Guess: true}, false},
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
	for _, m := range Models("openai") {
		if info, _ := Lookup("openai", m.ID); info.Patches != m.Patches {
			t.Errorf("%s: %v in the list", m.ID, m.Patches)
		}
	}
}

func TestLookupHandsOutCopies(t *testing.T) {
	info, _ := Lookup("openai", "gpt-5.5")
	info.Price.Input = 0
	if again, _ := Lookup("openai", "gpt-5.5"); again.Price.Input != 5 {
		t.Error("a caller changed the catalogue")
	}
	Models("openai")[0].Price.Input = 0
	if again := Models("openai")[0]; again.Price.Input == 0 {
		t.Error("a caller changed the catalogue's list")
	}
}

// Slips of the pen in what is written by hand show as numbers out of proportion.
func TestOwnRowsArePlausible(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range own() {
		p := m.Price
		switch {
		case seen[m.ID]:
			t.Errorf("%s stands twice", m.ID)
		case m.Context < 100_000 || m.MaxOutput < 4_000 || m.MaxOutput >= m.Context:
			t.Errorf("%s: window %d, reply %d", m.ID, m.Context, m.MaxOutput)
		case m.Provider == "demo" && *p == (Price{}):
		case p.Input <= 0 || p.Output <= p.Input || p.CacheRead <= 0 || p.CacheRead > p.Input/2:
			t.Errorf("%s: price %+v", m.ID, *p)
		case p.CacheWrite != 0 && p.CacheWrite < p.Input:
			t.Errorf("%s: cache write %v below input %v", m.ID, p.CacheWrite, p.Input)
		case ProviderFor(m.ID) != m.Provider || family(m.ID) != m.ID:
			t.Errorf("%s is not found as it stands", m.ID)
		}
		seen[m.ID] = true
	}
}

// Each line of the table is one that parseRow can read, and found under its id.
func TestTableIsWhole(t *testing.T) {
	counts := map[string]int{}
	lines := strings.Split(strings.TrimSpace(table), "\n")
	for _, line := range lines[2:] {
		if n := strings.Count(line, "\t"); n != 10 {
			t.Errorf("%d tabs: %s", n, line)
			continue
		}
		m := parseRow(line)
		counts[m.Provider]++
		got, known := Lookup(m.Provider, m.ID)
		switch p := m.Price; {
		case !known || got.Context < 4096 || got.MaxOutput <= 0 || got.MaxOutput > got.Context || got.Name == "":
			t.Errorf("%s: found %v, %+v", line, known, got)
		case p == nil:
		case p.Input < 0 || p.Output < 0 || p.CacheRead > p.Input/2 || p.CacheWrite != 0 && p.CacheWrite < p.Input:
			t.Errorf("%s: price %+v", line, *p)
		case *p == (Price{}) && !strings.HasSuffix(m.ID, ":free"):
			t.Errorf("%s costs nothing", line)
		}
	}
	for provider, least := range map[string]int{"anthropic": 8, "openai": 12, "gemini": 3, "deepseek": 2,
		"openrouter": 100} {
		if counts[provider] < least {
			t.Errorf("%d models of %s", counts[provider], provider)
		}
	}
	if source := CatalogSource(); !strings.HasPrefix(source, "charm.land/catwalk@v") || !strings.Contains(source, ", 20") {
		t.Errorf("source %q", source)
	}
}

// What is written by hand wins, and is listed once.
func TestOwnRowsWin(t *testing.T) {
	if _, ok := index().byKey["anthropic/claude-haiku-4-5"]; !ok {
		t.Fatal("the table has no row that one by hand overrides")
	}
	seen := map[string]int{}
	for _, m := range Models("anthropic") {
		seen[m.ID]++
		if m.ID == "claude-haiku-4-5" && m.MaxOutput != 64_000 {
			t.Errorf("%+v", m)
		}
	}
	if seen["claude-haiku-4-5"] != 1 || seen["claude-opus-4-1"] != 1 || seen["claude-opus-5"] != 1 {
		t.Errorf("%v", seen)
	}
}

func TestModelsThatSeeAreKnownByName(t *testing.T) {
	for id, want := range map[string]bool{"llava:13b": true, "Qwen/Qwen2.5-VL-72B": true, "qwen2.5vl:7b": true,
		"llama3.2-vision": true, "qwen3:8b": false, "devline": false} {
		if got, _ := Lookup("compatible", id); got.Images != want {
			t.Errorf("%s sees: %v", id, got.Images)
		}
	}
}

func TestDefaultModelsAreInTheCatalog(t *testing.T) {
	for _, provider := range []string{"anthropic", "openai", "gemini", "deepseek", "openrouter", "demo"} {
		model := DefaultModel(provider)
		if info, known := Lookup(provider, model); !known || !info.Tools {
			t.Errorf("the default of %s is %q, which is not known", provider, model)
		}
		if provider != "openrouter" && len(Models(provider)) == 0 {
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
	for list, want := range map[string]string{
		"claude-sonnet-5 claude-opus-5-20280101 claude-3-7-sonnet-latest": "anthropic",
		"gpt-5.5 o3 o4-mini gpt-4o-2024-08-06":                            "openai",
		"gemini-3.7-flash gemini-2.5-pro":                                 "gemini",
		"deepseek-chat deepseek-v4-pro":                                   "deepseek",
		"demo":                                                            "demo",
		"llama3 qwen3:8b gpt-oss:20b olmo o o0 ollama/x openai/gpt-5.5 sonnet claude-opus-9 gpt-7 gemini-4-argon deepseek-flash": "",
	} {
		for model := range strings.FieldsSeq(list) {
			if got := ProviderFor(model); got != want {
				t.Errorf("ProviderFor(%q) = %q, want %q", model, got, want)
			}
		}
	}
	if got := ProviderFor(""); got != "" {
		t.Errorf("no model is from %q", got)
	}
}

func TestCost(t *testing.T) {
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
	}
	for _, tt := range tests {
		got := Cost(tt.usage, tt.price)
		if diff := cmp.Diff(tt.want, got,
			cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}
