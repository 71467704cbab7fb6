package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// world gives a test an empty environment and a home of its own, and returns
// the home.
func world(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "ARTOO_") || strings.HasPrefix(name, "XDG_") ||
			strings.HasSuffix(name, "_API_KEY") || strings.HasSuffix(name, "_BASE_URL") || name == "OLLAMA_HOST" {
			t.Setenv(name, "")
		}
	}
	t.Setenv("HOME", home)
	return home
}

// writeFile writes text below dir and returns the path.
func writeFile(t *testing.T, mode os.FileMode, text string, elem ...string) string {
	t.Helper()
	path := filepath.Join(elem...)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return path
}

// withFile loads text as the default config file.
func withFile(t *testing.T, text string) (*Config, error) {
	t.Helper()
	home := world(t)
	writeFile(t, 0o600, text, home, ".config", "artoo", "config.toml")
	return load(LoadOptions{})
}

func mustFile(t *testing.T, text string) *Config {
	t.Helper()
	c, err := withFile(t, text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// load loads with the variables that the test has set.
func load(o LoadOptions) (*Config, error) {
	o.Environ = os.Environ()
	return Load(o)
}

func mustLoad(t *testing.T, o LoadOptions) *Config {
	t.Helper()
	c, err := load(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// wantError checks kind and the words of an error, hint included.
func wantError(t *testing.T, err error, kind string, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	var e interface {
		error
		ErrorKind() string
		ErrorHint() string
	}
	if !errors.As(err, &e) {
		t.Fatalf("%v (%T) has no kind", err, err)
	}
	if e.ErrorKind() != kind {
		t.Errorf("kind of %q is %s, want %s", err, e.ErrorKind(), kind)
	}
	all := e.Error() + "\n  try: " + e.ErrorHint()
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%q lacks %q", all, w)
		}
	}
}
