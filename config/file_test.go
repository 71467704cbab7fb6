package config

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// everySection is a file that uses each section.
const everySection = `
# a comment
[provider]
default     = "groq"
temperature = 0
idle_timeout = 90            # seconds

[provider.groq]
base_url       = "https://api.example.org/openai/v1"
api_key_source = "env"
api_key_env    = "GROQ_KEY"
extra_headers  = { "HTTP-Referer" = "https://example.org" }

[provider.groq.models."llama/70b"]
context    = 131072
max_output = 8192
price      = { input = 0.5, output = 1, cache_read = 0.05 }
images     = true
reasoning  = false

[[provider.openai_compatible]]
name = "first"
base_url = "http://localhost:1/v1"

[[provider.openai_compatible]]
name = "second"
base_url = "http://localhost:2/v1"
api_key_command = ["pass", "show", "second"]

[agent]
context_budget = 1000
max_time = "10m"

[permissions]
approval_mode = "prompt"
allow = [
  "bash(go test:*)", # a comment with ] and "
  'write(docs/**)',
]

[ui]
history = false
stdin_max = "2MiB"

[project."/src/shop"]
allow = ["bash(make:*)"]
deny = ["read(secret/**)"]
`

// providersOfEverySection are the providers that everySection defines.
func providersOfEverySection() map[string]ProviderTable {
	half, one, little, yes, no := 0.5, 1.0, 0.05, true, false
	return map[string]ProviderTable{
		"groq": {
			BaseURL: "https://api.example.org/openai/v1", APIKeySource: "env", APIKeyEnv: "GROQ_KEY",
			ExtraHeaders: map[string]Secret{"HTTP-Referer": NewSecret("https://example.org")},
			Models: map[string]Model{"llama/70b": {Context: 131072, MaxOutput: 8192,
				Price: &Price{Input: &half, Output: &one, CacheRead: &little}, Images: &yes, Reasoning: &no}},
			Origin: "config.toml line 8",
		},
		"first": {BaseURL: "http://localhost:1/v1", Origin: "config.toml line 21"},
		"second": {BaseURL: "http://localhost:2/v1", APIKeyCommand: []string{"pass", "show", "second"},
			Origin: "config.toml line 25"},
	}
}

func TestFileSettings(t *testing.T) {
	c := mustFile(t, everySection)
	if len(c.Warnings) != 0 {
		t.Errorf("warnings %q", c.Warnings)
	}
	if c.Provider != "groq" || !c.IsSet("temperature") || c.Temperature != 0 || c.IdleTimeout != Time(90*time.Second) || c.MaxContextTokens != 1000 ||
		c.MaxTime != Time(10*time.Minute) || c.Approval != "ask" || bool(c.History) || c.StdinMax != 2<<20 {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(providersOfEverySection(), c.Providers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(List{"bash(go test:*)", "write(docs/**)"}, c.Allow); diff != "" {
		t.Error(diff)
	}
	rules := []RuleText{
		{List: "allow", Text: "bash(make:*)", Origin: "config.toml line 46", OfProject: true, file: "~/.config/artoo/config.toml"},
		{List: "deny", Text: "read(secret/**)", Origin: "config.toml line 47", OfProject: true, file: "~/.config/artoo/config.toml"},
	}
	if diff := cmp.Diff(rules, c.projectRules["/src/shop"], cmp.AllowUnexported(RuleText{})); diff != "" {
		t.Error(diff)
	}
	for key, origin := range map[string]string{
		"provider": "config.toml line 4", "idle_timeout": "config.toml line 6",
		"max_context_tokens": "config.toml line 31", "approval": "config.toml line 35",
		"allow": "config.toml line 36", "history": "config.toml line 42",
	} {
		if got := c.Origin(key); got != origin {
			t.Errorf("%s comes from %s, want %s", key, got, origin)
		}
	}
}

func TestFileErrors(t *testing.T) {
	for _, test := range []struct {
		name, text string
		words      []string
	}{
		{"syntax", "[agent]\nmax_turns = = 3\n", []string{"config.toml line 2: "}},
		{"duplicate key", "[agent]\nmax_turns = 3\nmax_turns = 4\n", []string{"config.toml line 3: "}},
		{"wrong type", "[agent]\n\nmax_turns = \"3\"\n",
			[]string{"config.toml line 3: agent.max_turns must be a whole number, not a string",
				"try: max_turns = 50"}},
		{"wrong type of a switch", "[ui]\nquiet = \"yes\"\n",
			[]string{"line 2: ui.quiet must be true or false, not a string"}},
		{"wrong type of a list", "[permissions]\nallow = [1]\n",
			[]string{"line 2: permissions.allow must be an array of strings, not an array"}},
		{"bad choice", "[ui]\ncolor = \"blue\"\n",
			[]string{`line 2: ui.color: "blue" is not one of auto, always, never`, `try: color = "auto"`}},
		{"bad number", "[agent]\nmax_cost = -1\n", []string{"line 2: agent.max_cost: -1 is too small"}},
		{"unknown provider", "\n[provider]\nprovider = \"opnai\"\n",
			[]string{`config.toml line 3: unknown provider "opnai"`, "try: openai"}},
		{"new provider without address", "[provider.opnai]\napi_key_env = \"X\"\n",
			[]string{`line 1: unknown provider "opnai", did you mean openai?`, "base_url"}},
		{"table for a key", "[provider.groq]\nbase_url = \"https://x.org\"\n[provider.groq.models]\nllama = 3\n",
			[]string{"line 4: provider.groq.models.llama must be a table, not a whole number"}},
		{"section is no table", "agent = 3\n", []string{"line 1: agent must be a table, not a whole number"}},
		{"unknown permission", "[permissions]\nallow = []\ndenny = [\"read(x)\"]\n",
			[]string{"line 3: no such key: permissions.denny, did you mean deny?"}},
		{"unknown project permission", "[project.\"/x\"]\nalow = []\n",
			[]string{"line 2: no such key: project./x.alow, did you mean allow?"}},
		{"relative project", "[project.x]\nallow = []\n", []string{"line 1: project x is not an absolute path"}},
		{"hooks", "[hooks]\nbefore = \"x\"\n", []string{"line 1: hooks must be an array of tables, not a table"}},
		{"list of hooks", "[[hooks]]\non = \"stop\"\ncommand = \"x\"\nrun = \"x\"\n", []string{"line 4: no such key: hooks[0].run"}},
		{"same thing twice", "[agent]\nmax_context_tokens = 1\ncontext_budget = 2\n",
			[]string{"line 3: agent.context_budget says the same as agent.max_context_tokens"}},
		{"same thing in two sections", "[agent]\napproval_mode = \"edits\"\n[permissions]\napproval = \"ask\"\n",
			[]string{"line 4: permissions.approval says the same as"}},
		{"bad address", "[provider.x]\nbase_url = \"x.org\"\n",
			[]string{"line 2: provider.x.base_url is not an address"}},
		{"bad key source", "[provider.openai]\napi_key_source = \"vault\"\n",
			[]string{`line 2: provider.openai.api_key_source: "vault" is not one of ` +
				`auto, keyring, env, config, command`}},
		{"bad header", "[provider.openai]\nextra_headers = { \"a b\" = \"c\" }\n",
			[]string{"line 2: provider.openai.extra_headers.a b is not a header"}},
		{"bad price", "[provider.openai.models.x]\nprice = { input = \"free\" }\n",
			[]string{"line 2: provider.openai.models.x.price.input must be a number"}},
		{"no name", "[[provider.openai_compatible]]\nbase_url = \"http://x.org\"\n",
			[]string{"line 1: [[provider.openai_compatible]] has no name"}},
		{"name twice", "[[provider.openai_compatible]]\nname = \"a\"\nbase_url = \"http://x.org\"\n[provider.a]\n" +
			"base_url = \"http://y.org\"\n", []string{"the provider a is defined twice"}},
		{"slash in a name", "[provider.\"a/b\"]\nbase_url = \"http://x.org\"\n",
			[]string{`line 1: "a/b" cannot be a provider's name`}},
		{"first of two", "[ui]\nquiet = 1\n[agent]\nmax_turns = \"x\"\n", []string{"line 2: "}},
		{"after a long string", "[agent]\nsystem = \"\"\"\n[ui]\nquiet = 1\n\"\"\"\"\nmax_turns = \"x\"\n",
			[]string{"line 6: agent.max_turns"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := withFile(t, test.text)
			wantError(t, err, "config", test.words...)
		})
	}
}

func TestErrorsNameTheFileButNoSecret(t *testing.T) {
	for _, text := range []string{
		"[provider.openai]\napi_key = sk-very-secret\n",
		"[provider.openai]\napi_key = [\"sk-very-secret\"]\n",
		"[provider.openai]\nbase_url = \"https://me:sk-very-secret@\"\n",
		"[provider]\napi_key = { a = \"sk-very-secret\" }\n",
	} {
		_, err := withFile(t, text)
		wantError(t, err, "config", "artoo", "config.toml line")
		if e := err.Error(); strings.Contains(e, "very-secret") {
			t.Errorf("%q shows the key", e)
		}
	}
}

// TestAKeyOutsideItsSectionIsAnError puts each key and alias at the top of the file, into
// every other section, a table of a provider, a sub-agent and a project, and a section
// whose name is misspelt: it would hold nowhere, and a rule must not be lost that way.
func TestAKeyOutsideItsSectionIsAnError(t *testing.T) {
	var sections []string
	for _, o := range Options() {
		if !slices.Contains(sections, o.Section) {
			sections = append(sections, o.Section)
		}
	}
	for _, o := range Options() {
		if o.NoFile {
			continue
		}
		for _, key := range append([]string{o.Key}, o.Aliases...) {
			if strings.Contains(key, ".") {
				continue
			}
			line := key + " = " + o.exampleTOML("") + "\n"
			places := []string{"", "[permision]\n", "[agent.permissions]\n"}
			for _, section := range sections {
				if !slices.Contains(o.keysIn(section), key) {
					places = append(places, "["+section+"]\n")
				}
			}
			if !slices.Contains([]string{"base_url", "api_key"}, key) { // a provider has its own
				places = append(places, "[provider.openai]\n")
			}
			if !slices.Contains([]string{"model", "tools"}, key) {
				places = append(places, "[agents.review]\n")
			}
			if !slices.Contains(ruleLists(), key) {
				places = append(places, "[project.\"/src/shop\"]\n")
			}
			for _, place := range places {
				_, err := withFile(t, place+line)
				wantError(t, err, "config", "config.toml line "+strconv.Itoa(1+strings.Count(place, "\n"))+": "+
					key+" belongs in ["+o.Section+"]", "try: move the line below ["+o.Section+"]")
			}
		}
	}
}

func TestUnknownKeysWarn(t *testing.T) {
	c := mustFile(t, "max_turn = 3\n[agent]\nmax_turn = 3\nmodle = \"x\"\nprint = true\n[provider.openai]\n"+
		"base_uri = \"x\"\n[provider]\nmodle = \"x\"\n[unknown]\na = 1\n[agnet]\na = 1\n")
	var got []string
	for _, w := range c.Warnings {
		_, rest, _ := strings.Cut(w, "config.toml ")
		got = append(got, rest)
	}
	want := []string{
		"line 1: no such key: max_turn",
		"line 3: no such key: agent.max_turn, did you mean max_turns?",
		"line 4: no such key: agent.modle",
		"line 5: no such key: agent.print, it is a flag or a variable only",
		"line 7: no such key: provider.openai.base_uri, did you mean base_url?",
		"line 9: no such key: provider.modle, did you mean model?",
		"line 10: no such key: unknown",
		"line 12: no such key: agnet, did you mean agent?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadableKeysWarn(t *testing.T) {
	path := writeFile(t, 0o600, "[provider.openai]\napi_key = \"sk-x\"\n", world(t), ".config", "artoo", "config.toml")
	for mode, want := range map[os.FileMode]int{0o644: 1, 0o640: 1, 0o604: 1, 0o600: 0, 0o400: 0} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		c := mustLoad(t, LoadOptions{})
		if len(c.Warnings) != want || want == 1 && !strings.Contains(c.Warnings[0], "chmod 600") {
			t.Errorf("mode %o: warnings %q", mode, c.Warnings)
		}
	}
}

// The mode is taken in [agent] too, as a file of another program's has it.
func TestTheModeInTheSectionAgent(t *testing.T) {
	if c := mustFile(t, "[agent]\napproval_mode = \"edits\"\n"); c.Approval != "edits" || len(c.Warnings) > 0 {
		t.Errorf("%s, %q", c.Approval, c.Warnings)
	}
}
