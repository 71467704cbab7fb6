package config

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fakeRing is a keyring in memory.
type fakeRing struct {
	mu    sync.Mutex
	keys  map[string]string
	fails error
	asked int
	onSet func() // may be nil
}

func (f *fakeRing) do(what func()) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.fails != nil {
		return f.fails
	}
	what()
	return nil
}

// Get implements Keyring.
func (f *fakeRing) Get(_ context.Context, name string) (key string, err error) {
	err = f.do(func() { key = f.keys[name] })
	return key, err
}

// Set implements Keyring.
func (f *fakeRing) Set(_ context.Context, name, key string) error {
	return f.do(func() {
		f.keys[name] = key
		if f.onSet != nil {
			f.onSet()
		}
	})
}

// Delete implements Keyring.
func (f *fakeRing) Delete(_ context.Context, name string) error {
	return f.do(func() { delete(f.keys, name) })
}

func ringed(t *testing.T, ring Keyring) *Config {
	t.Helper()
	return mustLoad(t, LoadOptions{Keyring: ring})
}

func wantKey(t *testing.T, c *Config, name, value, source string) {
	t.Helper()
	key, err := c.Key(t.Context(), name)
	if err != nil || key.Value.Reveal() != value || key.Source != source {
		t.Errorf("key %q from %q (%v), want %q from %q", key.Value.Reveal(), key.Source, err, value, source)
	}
}

func TestKeysInTheKeyring(t *testing.T) {
	home := world(t)
	file := filepath.Join(home, ".local", "share", "artoo", "credentials.toml")
	ring := &fakeRing{keys: map[string]string{}}
	c := ringed(t, ring)
	stored, err := c.StoreKey(t.Context(), "openai", NewSecret("sk-1"))
	if err != nil || stored.Where != "the keyring" || stored.NoKeyring != nil {
		t.Fatalf("%+v, %v", stored, err)
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "sk-1") {
		t.Errorf("the file is %q, %v", data, err)
	}

	// It is opened for this provider alone, when a key is wanted, and once.
	ring.asked = 0
	c = ringed(t, ring)
	if hand, err := c.AtHand(); err != nil || !slices.Equal(hand, []string{"openai"}) {
		t.Errorf("at hand: %v, %v", hand, err)
	}
	if _, err := c.Key(t.Context(), "anthropic"); err == nil {
		t.Error("anthropic has a key")
	}
	if places, err := c.KeyPlaces("openai"); err != nil || !slices.Equal(places, []string{"keyring"}) {
		t.Errorf("%v, %v", places, err)
	}
	if ring.asked != 0 {
		t.Errorf("the keyring was opened %d times for nothing", ring.asked)
	}
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { wantKey(t, c, "openai", "sk-1", "keyring") })
	}
	all.Wait()
	wantKey(t, c.With(Choice{Provider: "openai", Model: "m"}), "openai", "sk-1", "keyring")
	if ring.asked != 1 {
		t.Errorf("the keyring was opened %d times", ring.asked)
	}

	// It comes before the variable, unless it cannot be opened.
	t.Setenv("OPENAI_API_KEY", "from-env")
	wantKey(t, ringed(t, ring), "openai", "sk-1", "keyring")
	wantKey(t, ringed(t, &fakeRing{fails: errors.New("locked")}), "openai", "from-env", "OPENAI_API_KEY")
	// A caller that stopped waiting for it wants no other key.
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if key, err := ringed(t, &fakeRing{fails: context.Canceled}).Key(stopped, "openai"); !errors.Is(err, context.Canceled) {
		t.Errorf("after a stop: a key from %q, %v", key.Source, err)
	}
	t.Setenv("OPENAI_API_KEY", "")
	_, err = ringed(t, &fakeRing{fails: errors.New("it is locked")}).Key(t.Context(), "openai")
	wantError(t, err, "auth", "the key is in the keyring: it is locked", "OPENAI_API_KEY", "artoo login openai")
	_, err = ringed(t, nil).Key(t.Context(), "openai")
	wantError(t, err, "auth", "there is no keyring here")

	// Logout that cannot reach the keyring must not forget about it.
	_, err = ringed(t, &fakeRing{fails: errors.New("it is locked")}).ForgetKey(t.Context(), "openai")
	wantError(t, err, "auth", "it is locked", "unlock the keyring")
	where, err := ringed(t, ring).ForgetKey(t.Context(), "openai")
	if err != nil || where != "the keyring" || len(ring.keys) != 0 {
		t.Errorf("%q, %v, left %v", where, err, ring.keys)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty file is left: %v", err)
	}
	if where, err = ringed(t, ring).ForgetKey(t.Context(), "openai"); err != nil || where != "" {
		t.Errorf("twice: %q, %v", where, err)
	}
}

func TestKeysInTheFile(t *testing.T) {
	home := world(t)
	file := filepath.Join(home, ".local", "share", "artoo", "credentials.toml")
	c := ringed(t, nil)
	var all sync.WaitGroup
	for _, name := range []string{"openai", "anthropic", "deepseek", "openrouter"} {
		all.Go(func() {
			stored, err := c.StoreKey(t.Context(), name, NewSecret("sk-"+name))
			if err != nil || stored.Where != "~/.local/share/artoo/credentials.toml" || stored.NoKeyring == nil {
				t.Errorf("%+v, %v", stored, err)
			}
		})
	}
	all.Wait()
	for _, name := range []string{"openai", "anthropic", "deepseek", "openrouter"} {
		wantKey(t, c, name, "sk-"+name, "credentials")
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(file)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("directory: mode %v, %v", dir.Mode(), err)
	}
	if where, err := c.ForgetKey(t.Context(), "openai"); err != nil || where != "~/.local/share/artoo/credentials.toml" {
		t.Errorf("%q, %v", where, err)
	}
	wantKey(t, c, "anthropic", "sk-anthropic", "credentials")
	if _, err := c.Key(t.Context(), "openai"); err == nil {
		t.Error("the key is still there")
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// A file that others can read is not written to, nor one that cannot be read.
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	_, err = c.StoreKey(t.Context(), "openai", NewSecret("sk-2"))
	wantError(t, err, "config", "others can read the keys", "chmod 600")
	writeFile(t, 0o600, "api_key = sk-4711-unquoted-key\n", file)
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = c.StoreKey(t.Context(), "openai", NewSecret("sk-2"))
	wantError(t, err, "config", "credentials.toml line 1")
	if strings.Contains(err.Error(), "4711") {
		t.Errorf("%v shows a key", err)
	}
}

func TestAKeyThatCannotBeWrittenDownIsNotLeftInTheKeyring(t *testing.T) {
	home := world(t)
	ring := &fakeRing{keys: map[string]string{}}
	file := filepath.Join(home, ".local", "share", "artoo", "credentials.toml")
	ring.onSet = func() {
		if err := os.Mkdir(file, 0o700); err != nil { // No file can replace a directory.
			t.Error(err)
		}
	}
	_, err := ringed(t, ring).StoreKey(t.Context(), "openai", NewSecret("sk-1"))
	wantError(t, err, "config", "cannot be written")
	if len(ring.keys) != 0 || ring.asked != 2 {
		t.Errorf("asked %d times, left %v", ring.asked, ring.keys)
	}
}

func TestKeyPlaces(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600,
		"[provider.openai]\napi_key = \"t\"\n[provider.deepseek]\napi_key_command = \"false\"\n[provider.anthropic]\napi_key_source = \"env\"\n", home, ".config", "artoo", "config.toml")
	writeFile(t, 0o600, "[openai]\napi_key = \"s\"\n[anthropic]\nkeyring = true\n", home, ".local", "share",
		"artoo", "credentials.toml")
	for name, value := range map[string]string{"OPENAI_API_KEY": "e", "ANTHROPIC_API_KEY": "e", "ARTOO_API_KEY": "g",
		"ARTOO_PROVIDER": "openai"} {
		t.Setenv(name, value)
	}
	c := mustLoad(t, LoadOptions{})
	for name, want := range map[string][]string{
		"openai":    {"ARTOO_API_KEY", "credentials", "OPENAI_API_KEY", "config.toml line 1"},
		"anthropic": {"ANTHROPIC_API_KEY"},
		"deepseek":  {"api_key_command"},
		"gemini":    nil,
	} {
		places, err := c.KeyPlaces(name)
		for i, p := range places {
			places[i] = strings.TrimPrefix(p, "~/.config/artoo/")
		}
		if err != nil || !slices.Equal(places, want) {
			t.Errorf("%s: %v, %v, want %v", name, places, err, want)
		}
	}
	if ok, _ := c.UsesStored("openai"); !ok {
		t.Error("openai does not use what is stored")
	}
	if ok, why := c.UsesStored("anthropic"); ok || !strings.Contains(why, "the source env") {
		t.Errorf("anthropic: %v, %q", ok, why)
	}
	for name, want := range map[string]bool{"openai": true, "compatible": true, "demo": false, "claude-cli": false,
		"nobody": false} {
		if c.NeedsKey(name) != want {
			t.Errorf("%s needs a key: %v", name, !want)
		}
	}
}

func TestKeyShapes(t *testing.T) {
	world(t)
	c := mustLoad(t, LoadOptions{})
	for _, test := range []struct{ provider, key, doubt, why string }{
		{"anthropic", "sk-ant-api03-x", "", ""},
		{"anthropic", "sk-ant-oat01-x", "", "the token of a subscription"},
		{"anthropic", "sk-proj-x", "", "looks like a key of openai"},
		{"anthropic", "whatever", "usually begin with sk-ant-", ""},
		{"openai", "sk-x", "", ""},
		{"openai", "sk-or-v1-x", "", "looks like a key of openrouter"},
		{"deepseek", "sk-x", "", ""},
		{"gemini", "AIzax", "", ""},
		{"gemini", "sk-ant-x", "", "looks like a key of anthropic"},
		{"compatible", "anything", "", ""},
		{"openai", "", "", "no key was entered"},
		{"openai", "sk x", "", "a space"},
		{"openai", `"sk-x"`, "", "begins with \""},
	} {
		doubt, err := c.CheckKeyShape(test.provider, NewSecret(test.key))
		if test.why != "" {
			wantError(t, err, "auth", test.why)
		} else if err != nil {
			t.Errorf("%s %s: %v", test.provider, test.key, err)
		}
		if !strings.Contains(doubt, test.doubt) || (test.doubt == "") != (doubt == "") {
			t.Errorf("%s %s: doubt %q", test.provider, test.key, doubt)
		}
	}
	t.Setenv("ANTHROPIC_BASE_URL", "https://gateway.example")
	if doubt, err := mustLoad(t, LoadOptions{}).CheckKeyShape("anthropic", NewSecret("sk-proj-x")); doubt != "" ||
		err != nil {
		t.Errorf("a gateway's key: %q, %v", doubt, err)
	}
}

func TestKeyCommandSpeaksAndSeesNoKey(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600,
		"[provider.openai]\napi_key_command = \"echo run >>$HOME/ran; echo touch the token >&2; printf 'no\\\\033end' >&2; echo k-$OPENAI_API_KEY-$MY_KEY-$ARTOO_DEBUG-$OTHER\"\n[provider.mine]\nbase_url = \"http://localhost:1\"\napi_key_env = \"MY_KEY\"\n", home, ".config", "artoo", "config.toml")
	for _, name := range []string{"OPENAI_API_KEY", "MY_KEY", "OTHER"} {
		t.Setenv(name, "seen")
	}
	t.Setenv("ARTOO_DEBUG", "1")
	var said []string
	c := mustLoad(t, LoadOptions{KeySays: func(line string) { said = append(said, line) }})
	wantKey(t, c, "openai", "k----seen", "api_key_command")
	wantKey(t, c.With(Choice{Provider: "openai"}), "openai", "k----seen", "api_key_command")
	if want := []string{"api_key_command: touch the token", "api_key_command: noend"}; !slices.Equal(said, want) {
		t.Errorf("it said %q, want %q", said, want)
	}
	if ran, err := os.ReadFile(filepath.Join(home, "ran")); string(ran) != "run\n" {
		t.Errorf("it ran %q, %v", ran, err)
	}
}

// TestAKeyInWhatAFailingKeyCommandSaysIsMasked has helpers print their input, and lines with tokens of their own.
func TestAKeyInWhatAFailingKeyCommandSaysIsMasked(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, "[provider.openai]\napi_key_command = \"echo refused TOPSECRET >&2; exit 3\"\n", home,
		".config", "artoo", "config.toml")
	c := mustLoad(t, LoadOptions{Mask: func(s string) string { return strings.ReplaceAll(s, "TOPSECRET", "***") }})
	_, err := c.Key(t.Context(), "openai")
	wantError(t, err, "auth", "exit status 3: refused ***", "echo refused ***")
	if e := (*Error)(nil); errors.As(err, &e) && strings.Contains(e.Error()+e.Hint, "TOPSECRET") {
		t.Errorf("the error shows it: %v, %s", err, e.Hint)
	}
}

// TestAWriteThatWasCutOffLeavesNoKeyBehind: kill -9 can come between a
// temporary file and its new name.
func TestAWriteThatWasCutOffLeavesNoKeyBehind(t *testing.T) {
	home := world(t)
	dir := filepath.Join(home, ".local", "share", "artoo")
	left := writeFile(t, 0o600, "[openai]\napi_key = \"old\"\n", dir, ".credentials-123.toml")
	other := writeFile(t, 0o600, "", dir, "notes.toml")
	c := mustLoad(t, LoadOptions{})
	if _, err := c.StoreKey(t.Context(), "openai", NewSecret("sk-proj-new")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary file is still there: %v", err)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
	wantKey(t, c, "openai", "sk-proj-new", "credentials")
}

// TestKeyVariablesAreAllThatAKeyIsLookedForIn checks the list of variables that children must not see.
func TestKeyVariablesAreAllThatAKeyIsLookedForIn(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600,
		"[provider.my-box]\nbase_url = \"http://localhost:1\"\n[provider.openai]\napi_key_env = \"WORK\"\n",
		home, ".config", "artoo", "config.toml")
	got := mustLoad(t, LoadOptions{}).KeyVariables()
	slices.Sort(got)
	for _, want := range []string{"MY_BOX_API_KEY", "WORK", "OPENAI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY",
		"ANTHROPIC_AUTH_TOKEN"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
}
