package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestKeyOrder(t *testing.T) {
	home := world(t)
	dir := filepath.Join(home, ".local", "share", "artoo")
	writeFile(t, 0o600, "[provider.openai]\napi_key = \"from-table\"\n", home, ".config", "artoo", "config.toml")
	check := func(value, source string) {
		t.Helper()
		key, err := mustLoad(t, LoadOptions{}).Key(t.Context(), "openai")
		if err != nil || key.Value.Reveal() != value || key.Source != source {
			t.Errorf("key %q from %q (%v), want %q from %q", key.Value.Reveal(), key.Source, err, value, source)
		}
	}
	check("from-table", "config.toml line 1")
	t.Setenv("OPENAI_API_KEY", " from-env\n")
	check("from-env", "OPENAI_API_KEY")
	writeFile(t, 0o600, "[openai]\napi_key = \"stored\"\n", dir, "credentials.toml")
	check("stored", "credentials")
	t.Setenv("ARTOO_API_KEY_FILE", writeFile(t, 0o600, "  from-file \nsecond line\n", home, "key"))
	check("from-file", "ARTOO_API_KEY_FILE")
	t.Setenv("ARTOO_API_KEY", "general")
	check("general", "ARTOO_API_KEY")
}

func TestKeySources(t *testing.T) {
	for _, test := range []struct {
		name, provider, table, env string
		value, source              string
		words                      []string // words in the error
	}{
		{"env", "openai", `api_key_source = "env"`, "OPENAI_API_KEY=k", "k", "OPENAI_API_KEY", nil},
		{"env by name", "openai", `api_key_env = "MY_KEY"`, "MY_KEY=k", "k", "MY_KEY", nil},
		{"env missing", "openai", "api_key_source = \"env\"\napi_key = \"x\"", "", "",
			"", []string{"openai: no key: OPENAI_API_KEY is not set", "ARTOO_API_KEY_FILE"}},
		{"config", "openai", "api_key_source = \"config\"\napi_key = \"x\"", "OPENAI_API_KEY=k",
			"x", "config.toml line 1", nil},
		{"config missing", "openai", `api_key_source = "config"`, "OPENAI_API_KEY=k",
			"", "", []string{"config.toml line 1 has no api_key"}},
		{"keyring", "openai", `api_key_source = "keyring"`, "OPENAI_API_KEY=k", "", "",
			[]string{"the keyring has none from artoo login", "artoo login openai"}},
		{"auto none", "gemini", "", "", "", "", []string{"GEMINI_API_KEY and GOOGLE_API_KEY are not set"}},
		{"auto second variable", "gemini", "", "GOOGLE_API_KEY=k", "k", "GOOGLE_API_KEY", nil},
		{"new name", "my-box", `base_url = "http://localhost:1"`, "MY_BOX_API_KEY=k", "k", "MY_BOX_API_KEY", nil},
		{"new name without key", "my-box", `base_url = "http://localhost:1"`, "", "", "", nil},
		{"new name, env asked for", "my-box", "base_url = \"http://localhost:1\"\napi_key_source = \"env\"", "", "", "",
			[]string{"MY_BOX_API_KEY is not set"}},
		{"compatible without key", "compatible", "", "", "", "", nil},
		{"demo", "demo", "", "ARTOO_API_KEY=k", "", "", nil},
		{"broken key", "openai", "", "OPENAI_API_KEY=sk \"x", "", "", []string{"OPENAI_API_KEY: the key contains a space"}},
		{"unknown", "nobody", "", "", "", "", []string{"nobody: unknown provider"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			home := world(t)
			if test.table != "" {
				writeFile(t, 0o600, "[provider."+test.provider+"]\n"+test.table+"\n", home, ".config", "artoo",
					"config.toml")
			}
			if name, value, ok := strings.Cut(test.env, "="); ok {
				t.Setenv(name, value)
			}
			key, err := mustLoad(t, LoadOptions{}).Key(t.Context(), test.provider)
			if test.words != nil {
				kind := "auth"
				if test.name == "unknown" {
					kind = "usage"
				}
				wantError(t, err, kind, test.words...)
				return
			}
			if err != nil || key.Value.Reveal() != test.value || key.Source != test.source {
				t.Errorf("key %q from %q (%v), want %q from %q", key.Value.Reveal(), key.Source,
					err, test.value, test.source)
			}
		})
	}
}

// TestGeneralKeyStaysWithItsProvider: ARTOO_API_KEY is for the chosen
// provider, and no other one may see it.
func TestGeneralKeyStaysWithItsProvider(t *testing.T) {
	world(t)
	t.Setenv("ARTOO_API_KEY", "general")
	t.Setenv("ARTOO_BASE_URL", "http://localhost:9/v1")
	c := mustLoad(t, LoadOptions{}).With(Choice{Provider: "anthropic", Model: "m"})
	if key, err := c.Key(t.Context(), "anthropic"); err != nil || key.Value.Reveal() != "general" {
		t.Errorf("%q, %v", key.Value.Reveal(), err)
	}
	if key, err := c.Key(t.Context(), "openai"); err == nil {
		t.Errorf("openai would get %q", key.Value.Reveal())
	}
	if a, source, err := c.Endpoint("anthropic"); a != "http://localhost:9/v1" || source != "ARTOO_BASE_URL" || err != nil {
		t.Errorf("anthropic is at %q from %q, %v", a, source, err)
	}
	if a, _, err := c.Endpoint("openai"); a != "" || err != nil {
		t.Errorf("openai is at %q, %v", a, err)
	}
}

func TestKeyCommand(t *testing.T) {
	load := func(command string) *Config {
		return mustFile(t, "[provider.openai]\napi_key_command = "+command+"\n")
	}
	for _, command := range []string{`"echo sk-1; echo second"`, `["printf", "sk-1\nsecond"]`} {
		key, err := load(command).Key(t.Context(), "openai")
		if err != nil || key.Value.Reveal() != "sk-1" || key.Source != "api_key_command" {
			t.Errorf("%s: %q from %q, %v", command, key.Value.Reveal(), key.Source, err)
		}
	}
	for _, test := range []struct{ command, word string }{
		{`"echo oh dear >&2; exit 3"`, "api_key_command: exit status 3: oh dear"},
		{`"true"`, "its first line is empty"},
		{`["/no/such/program", "x"]`, "no such file"},
		{`"printf 'a\\033[2Jb' >&2; exit 1"`, "a[2Jb"},
	} {
		_, err := load(test.command).Key(t.Context(), "openai")
		wantError(t, err, "auth", "openai: ", test.word, "run it by hand")
	}
	// Much output and a process left behind that holds the pipe do not stop it.
	flag := writeFile(t, 0o600, "", t.TempDir(), "stay")
	key, err := load(`"echo sk-2; head -c 300000 /dev/zero; while [ -e `+
		flag+` ]; do sleep 0.1; done &"`).Key(t.Context(), "openai")
	if err != nil || key.Value.Reveal() != "sk-2" {
		t.Errorf("%q, %v", key.Value.Reveal(), err)
	}
	// Long enough for the command to start on a machine with much else to do.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = load(`"exec sleep 100"`).Key(ctx, "openai")
	wantError(t, err, "auth", "took longer than")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not wrap the deadline", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err = load(`"exec sleep 100"`).Key(ctx, "openai"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v is no cancellation", err)
	}
}

func TestCredentialsAreRefusedWhenOthersCanReadThem(t *testing.T) {
	home := world(t)
	path := writeFile(t, 0o644, "[openai]\napi_key = \"stored\"\n", home, ".local", "share", "artoo", "credentials.toml")
	t.Setenv("OPENAI_API_KEY", "k")
	_, err := mustLoad(t, LoadOptions{}).Key(t.Context(), "openai")
	wantError(t, err, "config", "others can read the keys", "chmod 600 ~/.local/share/artoo/credentials.toml")
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if key, err := mustLoad(t, LoadOptions{}).Key(t.Context(), "openai"); err != nil || key.Value.Reveal() != "stored" {
		t.Errorf("%q, %v", key.Value.Reveal(), err)
	}
}

func TestKeyFileErrors(t *testing.T) {
	home := world(t)
	t.Setenv("ARTOO_API_KEY_FILE", filepath.Join(home, "none"))
	_, err := mustLoad(t, LoadOptions{}).Key(t.Context(), "openai")
	wantError(t, err, "auth", "ARTOO_API_KEY_FILE: ", "none")
	t.Setenv("ARTOO_API_KEY_FILE", writeFile(t, 0o600, "\nsecond\n", home, "empty"))
	_, err = mustLoad(t, LoadOptions{}).Key(t.Context(), "openai")
	wantError(t, err, "auth", "the first line of", "is empty")
	t.Setenv("ARTOO_API_KEY_FILE", home)
	_, err = mustLoad(t, LoadOptions{}).Key(t.Context(), "openai")
	wantError(t, err, "auth", "directory")
}

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	const text = "sk-very-secret"
	type nested struct{ inner Secret }
	s := NewSecret(text)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", s)
	encoded, err := json.Marshal(map[string]any{"k": s, "key": Key{Value: s}})
	if err != nil {
		t.Fatal(err)
	}
	printed := []string{log.String(), string(encoded), s.String(), fmt.Sprint(&s),
		fmt.Errorf("x %w %v", errors.New("y"), s).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%10s", "%T", "%p"} {
		printed = append(printed, fmt.Sprintf(verb, s), fmt.Sprintf(verb, nested{s}),
			fmt.Sprintf(verb, Config{Settings: Settings{APIKey: s}}))
	}
	for _, p := range printed {
		if strings.Contains(p, "very") || strings.Contains(p, fmt.Sprintf("%x", "very")) {
			t.Errorf("%q shows the secret", p)
		}
	}
	if s.String() != "[hidden]" || s.Reveal() != text || NewSecret("").String() != "" || !NewSecret("").IsZero() {
		t.Error("mask or text is wrong")
	}
}

// TestAKeyThatRanOut has only the first of all that a server refused look for the key again; the others get the same
// one.
func TestAKeyThatRanOut(t *testing.T) {
	home := world(t)
	file := writeFile(t, 0o600, "first\n", home, "key")
	t.Setenv("ARTOO_API_KEY_FILE", file)
	s := mustLoad(t, LoadOptions{}).KeySource("openai")
	began := time.Now()
	if s.Renew(t.Context(), began) {
		t.Error("there is a new key before there was one")
	}
	key := func(want string) {
		t.Helper()
		if got, err := s.Key(t.Context()); got != want || err != nil {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	began = time.Now()
	key("first") // it is looked for inside the request
	if s.Renew(t.Context(), began) {
		t.Error("the same key counts as another")
	}
	writeFile(t, 0o600, "second\n", home, "key")
	key("first")
	for n := range 2 {
		if !s.Renew(t.Context(), began) {
			t.Errorf("the new key did not reach number %d of those that were refused", n+1)
		}
	}
	key("second")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if s.Renew(t.Context(), time.Now()) {
		t.Error("a key that cannot be found counts as another")
	}
	key("second")
}

func TestSeenKeys(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600,
		"[provider.openai]\napi_key_command = \"echo key-of-a-command-0123\"\n[provider.box]\nbase_url = \"http://localhost:1\"\napi_key = \"key-of-the-config-file\"\n", home, ".config", "artoo", "config.toml")
	t.Setenv("GOOGLE_API_KEY", "key-of-a-second-variable")
	t.Setenv("DEEPSEEK_API_KEY", "dummy")
	t.Setenv("BOX_API_KEY", " key-of-a-box-0123456\n")
	cfg := mustLoad(t, LoadOptions{})
	want := []string{"key-of-a-second-variable", "key-of-the-config-file", "key-of-a-box-0123456"}
	if diff := cmp.Diff(want, cfg.SeenKeys()); diff != "" {
		t.Error(diff)
	}
	if _, err := cfg.Key(t.Context(), "openai"); err != nil {
		t.Fatal(err)
	}
	want = append(want[:2], "key-of-a-command-0123", want[2])
	if diff := cmp.Diff(want, cfg.SeenKeys()); diff != "" {
		t.Error(diff)
	}
}
