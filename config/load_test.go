package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDefaults(t *testing.T) {
	world(t)
	c := mustLoad(t, LoadOptions{})
	if diff := cmp.Diff(Settings{
		IdleTimeout: Time(5 * time.Minute),
		MaxTokens:   8192, MaxContextTokens: 180000, ToolResultMaxChars: 10000, Compact: "ask", MaxTurns: 50,
		MaxRetryTime: Time(2 * time.Minute), MaxConcurrentTools: 4,
		ShellTimeout: Time(2 * time.Minute), ShellTimeoutMax: Time(30 * time.Minute),
		Approval: "ask", Sandbox: "auto",
		Output: "text", UI: "auto", Color: "auto", Status: "short", Notify: "off", Title: "auto", History: true,
		AskTimeout: Time(time.Minute), EditMode: "emacs", Input: "text", Stdin: "auto", StdinWait: Time(3 * time.Second), StdinMax: 1 << 30,
	}, c.Settings); diff != "" {
		t.Error(diff)
	}
	if c.File != "" || len(c.Warnings) != 0 {
		t.Errorf("file %q, warnings %q", c.File, c.Warnings)
	}
	for _, v := range c.Values() {
		if v.Origin != "default" || c.IsSet(v.Option.Key) {
			t.Errorf("%s comes from %s", v.Option.Key, v.Origin)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := "[provider]\nmodel = \"from-file\"\n[agent]\nmax_turns = 7\n"
	for _, test := range []struct {
		name, file, env, flag string
		model, origin         string
	}{
		{"default", "", "", "", "", "default"},
		{"file", file, "", "", "from-file", "config.toml line 2"},
		{"environment", file, "from-env", "", "from-env", "ARTOO_MODEL"},
		{"flag", file, "from-env", "from-flag", "from-flag", "--model"},
		{"flag over file", file, "", "from-flag", "from-flag", "--model"},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := world(t)
			if test.file != "" {
				writeFile(t, 0o600, test.file, home, ".config", "artoo", "config.toml")
			}
			t.Setenv("ARTOO_MODEL", test.env)
			flags := map[string][]string{}
			if test.flag != "" {
				flags["model"] = []string{"earlier", test.flag}
			}
			c := mustLoad(t, LoadOptions{Flags: flags})
			if c.Model != test.model || c.Origin("model") != test.origin {
				t.Errorf("model %q from %q, want %q from %q", c.Model, c.Origin("model"), test.model, test.origin)
			}
			if c.IsSet("model") != (test.model != "") {
				t.Error("IsSet is wrong")
			}
		})
	}
}

func TestRulesOfSeveralPlacesAddUp(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, "[permissions]\nallow = [\"a\"]\ndeny = \"d1, d2\"\n[agent]\ntools = [\"read\", \"bash\"]\n",
		home, ".config", "artoo", "config.toml")
	t.Setenv("ARTOO_ALLOW", "bash(git log, git status)\nread , write(a,b)")
	t.Setenv("ARTOO_TOOLS", "-bash")
	c := mustLoad(t, LoadOptions{Flags: map[string][]string{"allow": {"x", "y,z"}, "add_dirs": {"/a,b", "/c:rw"}}})
	if diff := cmp.Diff(List{"a", "bash(git log, git status)", "read", "write(a,b)", "x", "y", "z"},
		c.Allow); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(List{"d1", "d2"}, c.Deny); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(List{"/a,b", "/c:rw"}, c.AddDirs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Tools{"read", "bash", "-bash"}, c.Tools); diff != "" {
		t.Error(diff)
	}
	if got, want := c.Origin("allow"), "config.toml line 2, ARTOO_ALLOW, --allow"; got != want {
		t.Errorf("origin %q, want %q", got, want)
	}
}

// Values are read as people write them; an empty one counts as unset.
func TestValuesAreReadAsWritten(t *testing.T) {
	for _, test := range []struct {
		env, text string
		get       func(*Config) any
		want      any
	}{
		{"ARTOO_QUIET", "YES", func(c *Config) any { return c.Quiet }, Switch(true)},
		{"ARTOO_QUIET", "On", func(c *Config) any { return c.Quiet }, Switch(true)},
		{"ARTOO_HISTORY", "off", func(c *Config) any { return c.History }, Switch(false)},
		{"ARTOO_HISTORY", "0", func(c *Config) any { return c.History }, Switch(false)},
		{"ARTOO_HISTORY", "No", func(c *Config) any { return c.History }, Switch(false)},
		{"ARTOO_HISTORY", "", func(c *Config) any { return c.History }, Switch(true)},
		{"ARTOO_MAX_TURNS", " 12 ", func(c *Config) any { return c.MaxTurns }, Whole(12)},
		{"ARTOO_MAX_TURNS", "", func(c *Config) any { return c.MaxTurns }, Whole(50)},
		{"ARTOO_MAX_TIME", "90", func(c *Config) any { return c.MaxTime }, Time(90 * time.Second)},
		{"ARTOO_MAX_TIME", "1h30m", func(c *Config) any { return c.MaxTime }, Time(90 * time.Minute)},
		{"ARTOO_STDIN_WAIT", "0.5", func(c *Config) any { return c.StdinWait }, Time(500 * time.Millisecond)},
		{"ARTOO_IDLE_TIMEOUT", "0", func(c *Config) any { return c.IdleTimeout }, Time(0)},
		{"ARTOO_STDIN_MAX", "512KiB", func(c *Config) any { return c.StdinMax }, Bytes(512 << 10)},
		{"ARTOO_STDIN_MAX", "2 gb", func(c *Config) any { return c.StdinMax }, Bytes(2e9)},
		{"ARTOO_STDIN_MAX", "1.5k", func(c *Config) any { return c.StdinMax }, Bytes(1536)},
		{"ARTOO_STDIN_MAX", "77", func(c *Config) any { return c.StdinMax }, Bytes(77)},
		{"ARTOO_TEMPERATURE", "0", func(c *Config) any { return c.Temperature }, Number(0)},
		{"ARTOO_MAX_COST", "0.25", func(c *Config) any { return c.MaxCost }, Number(0.25)},
		{"ARTOO_COLOR", "Never", func(c *Config) any { return c.Color }, "never"},
		{"ARTOO_COLORS", "error=1;38;5;208:meta=:", func(c *Config) any { return fmt.Sprint(c.Styles()) }, "map[error:1;38;5;208 meta:]"},
		{"ARTOO_COLORS", "default:done=1", func(c *Config) any { return fmt.Sprint(c.Styles()) }, "map[done:1]"},
		{"ARTOO_COLORS", "colorblind:error=31", func(c *Config) any { return fmt.Sprint(c.Styles()) },
			"map[add:94 done:94 error:31 remove:91]"},
		{"ARTOO_APPROVAL", "prompt", func(c *Config) any { return c.Approval }, "ask"},
		{"ARTOO_SYSTEM", "  two  blanks ", func(c *Config) any { return c.System }, "  two  blanks "},
		{"ARTOO_DEBUG", "1", func(c *Config) any { return c.Debug }, Switch(true)},
	} {
		t.Run(test.env+"="+test.text, func(t *testing.T) {
			world(t)
			t.Setenv(test.env, test.text)
			if got := test.get(mustLoad(t, LoadOptions{})); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// An invalid value is an error that names the variable and its valid values.
func TestBadValuesAreNamed(t *testing.T) {
	for _, test := range []struct {
		env, text string
		words     []string
	}{
		{"ARTOO_QUIET", "maybe", []string{`ARTOO_QUIET: "maybe" is not one of 1, true, yes, on, 0, false, no, off`}},
		{"ARTOO_COLOR", "allways", []string{`ARTOO_COLOR: "allways" is not one of auto, always, never`,
			"try: ARTOO_COLOR=always"}},
		{"ARTOO_COLORS", "errors=31", []string{`ARTOO_COLORS: "errors" is not one of you, ask, path, done, error, add, remove, meta, frag, context, code, dim`,
			"try: ARTOO_COLORS=light:error=31"}},
		{"ARTOO_COLORS", "error=red", []string{`"red" is not a style: numbers of 0 to 255 with ; between them, like 1;31`}},
		{"ARTOO_COLORS", "add=1;256", []string{`"1;256" is not a style`}},
		{"ARTOO_COLORS", "31", []string{`"31" is neither a palette (default, light or colorblind) nor a style, like error=31`}},
		{"ARTOO_EFFORT", "hard", []string{`"hard" is not one of off, low, medium, high, max`}},
		{"ARTOO_MAX_TURNS", "many", []string{`ARTOO_MAX_TURNS: "many" is not a whole number`, "try: ARTOO_MAX_TURNS=50"}},
		{"ARTOO_MAX_TURNS", "0", []string{"more than 0"}},
		{"ARTOO_MAX_TURNS", "-3", []string{"-3 is too small"}},
		{"ARTOO_MAX_TURNS", "99999999999999999999", []string{"too large"}},
		{"ARTOO_MAX_COST", "0", []string{"more than 0"}},
		{"ARTOO_MAX_COST", "NaN", []string{"is not a number"}},
		{"ARTOO_MAX_COST", "$5", []string{"is not a number"}},
		{"ARTOO_MAX_TIME", "soon", []string{"is not a time like 90s"}},
		{"ARTOO_MAX_TIME", "1e30", []string{"too long"}},
		{"ARTOO_STDIN_MAX", "1PiB", []string{"is not a size"}},
		{"ARTOO_STDIN_MAX", "9999999TiB", []string{"too large"}},
		{"ARTOO_STDIN_MAX", "GiB", []string{"is not a size"}},
		{"ARTOO_TEMPERATURE", "2.5", []string{"the maximum is 2"}},
		{"ARTOO_BASE_URL", "localhost:8080", []string{"ARTOO_BASE_URL: is not an address"}},
		{"ARTOO_MODEL", "  ", []string{"ARTOO_MODEL: is empty"}},
		{"ARTOO_PROVIDER", "antropic", []string{`ARTOO_PROVIDER: unknown provider "antropic"`, "try: anthropic"}},
		{"ARTOO_SHELL_TIMEOUT", "2h", []string{"ARTOO_SHELL_TIMEOUT: ", "30m", "2h"}},
	} {
		t.Run(test.env+"="+test.text, func(t *testing.T) {
			world(t)
			t.Setenv(test.env, test.text)
			_, err := load(LoadOptions{})
			wantError(t, err, "usage", test.words...)
		})
	}
}

func TestBadFlags(t *testing.T) {
	for _, test := range []struct {
		flags map[string][]string
		words []string
	}{
		{map[string][]string{"max_turns": {"x"}},
			[]string{`--max-turns: "x" is not a whole number`, "try: --max-turns 50"}},
		{map[string][]string{"quiet": {"x"}}, []string{"--quiet: ", "try: --quiet"}},
		{map[string][]string{"model": {""}}, []string{"--model: is empty"}},
		{map[string][]string{"continue": {"true"}, "resume": {"ab"}}, []string{"--continue"}},
		{map[string][]string{"print": {"true"}, "interactive": {"true"}}, []string{"--print"}},
	} {
		world(t)
		_, err := load(LoadOptions{Flags: test.flags})
		wantError(t, err, "usage", test.words...)
	}
}

// An unknown ARTOO_ variable is reported with the nearest name.
func TestUnknownVariablesWarnOnce(t *testing.T) {
	world(t)
	t.Setenv("ARTOO_MODLE", "x")
	t.Setenv("ARTOO_ZZZZZZZZZZZZ", "x")
	t.Setenv("ARTOO_EMPTY", "")
	want := []string{
		"ARTOO_MODLE: no such variable, did you mean ARTOO_MODEL?",
		"ARTOO_ZZZZZZZZZZZZ: no such variable",
	}
	if diff := cmp.Diff(want, mustLoad(t, LoadOptions{}).Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestConfigFilePlaces(t *testing.T) {
	home := world(t)
	other := writeFile(t, 0o600, "[provider]\nmodel = \"other\"\n", home, "elsewhere", "my.toml")
	c := mustLoad(t, LoadOptions{Flags: map[string][]string{"config": {other}}})
	if c.Model != "other" || c.File != other || c.Origin("model") != "my.toml line 2" {
		t.Errorf("model %q of %q, file %q", c.Model, c.Origin("model"), c.File)
	}
	t.Setenv("ARTOO_CONFIG", other)
	if c := mustLoad(t, LoadOptions{}); c.Model != "other" {
		t.Error("ARTOO_CONFIG is not honoured")
	}
	t.Setenv("ARTOO_CONFIG", "")
	missing := filepath.Join(home, "none.toml")
	_, err := load(LoadOptions{Flags: map[string][]string{"config": {missing}}})
	wantError(t, err, "config", missing, "--config")

	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "xdg"))
	writeFile(t, 0o600, "[provider]\nmodel = \"xdg\"\n", home, "xdg", "artoo", "config.toml")
	if c := mustLoad(t, LoadOptions{}); c.Model != "xdg" {
		t.Error("XDG_CONFIG_HOME is not honoured")
	}
	t.Setenv("XDG_CONFIG_HOME", "relative")
	if c := mustLoad(t, LoadOptions{}); c.Model != "" {
		t.Error("a relative XDG_CONFIG_HOME is honoured")
	}
}

// TestAnotherProviderDropsWhatBelongsToTheFirst: a key, an address or a model
// that one place gives for its provider is not used with another one.
func TestAnotherProviderDropsWhatBelongsToTheFirst(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, "[provider]\nprovider = \"openrouter\"\nmodel = \"a/b\"\nbase_url = \"http://127.0.0.1:1/\"\n",
		home, ".config", "artoo", "config.toml")
	t.Setenv("ARTOO_API_KEY", "sk-env")
	c := mustLoad(t, LoadOptions{Flags: map[string][]string{"provider": {"openai"}}})
	if c.Model != "" || c.BaseURL != "" || c.IsSet("model") || c.Origin("base_url") != "default" {
		t.Errorf("model %q, base URL %q", c.Model, c.BaseURL)
	}
	if c.APIKey.IsZero() {
		t.Error("the key was given after the provider it is said to belong to")
	}
	want := []string{
		"model a/b of config.toml line 3: left out: it belongs to openrouter, but --provider chooses openai"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
	t.Setenv("ARTOO_PROVIDER", "anthropic")
	if c := mustLoad(t, LoadOptions{}); c.Model != "" || c.BaseURL != "" || c.APIKey.IsZero() {
		t.Errorf("model %q, base URL %q", c.Model, c.BaseURL)
	}
	c = mustLoad(t, LoadOptions{Flags: map[string][]string{"provider": {"openai"}}})
	if !c.APIKey.IsZero() {
		t.Error("the key for anthropic would go to openai")
	}
	c = mustLoad(t, LoadOptions{Flags: map[string][]string{"model": {"c"}}})
	if c.Provider != "anthropic" || c.Model != "c" || c.APIKey.IsZero() {
		t.Errorf("provider %q, model %q", c.Provider, c.Model)
	}
}

func TestValuesHideSecrets(t *testing.T) {
	t.Setenv("ARTOO_API_KEY", "sk-secret")
	t.Setenv("ARTOO_MAX_TIME", "5m")
	got := map[string]string{}
	for _, v := range mustLoad(t, LoadOptions{}).Values() {
		got[v.Option.Key] = v.Value + " <- " + v.Origin
		if strings.Contains(v.Value, "sk-") {
			t.Errorf("%s shows %q", v.Option.Key, v.Value)
		}
	}
	for key, want := range map[string]string{
		"api_key": "[hidden] <- ARTOO_API_KEY", "max_time": "5m <- ARTOO_MAX_TIME", "max_cost": " <- default",
		"stdin_max": "1GiB <- default", "history": "true <- default", "temperature": " <- default",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
}
