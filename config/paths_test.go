package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPaths(t *testing.T) {
	root := t.TempDir() // absolute on every system
	at := func(elem ...string) string { return filepath.Join(append([]string{root}, elem...)...) }
	env := map[string]string{
		"HOME": at("home"), "XDG_DATA_HOME": "", "XDG_STATE_HOME": "relative/state", "XDG_CACHE_HOME": at("cache"),
	}
	world(t)
	for name, value := range env {
		t.Setenv(name, value)
	}
	p := FindPaths(os.Environ())
	for _, test := range []struct {
		name string
		get  func() (string, error)
		want string
	}{
		{"config", p.ConfigFile, at("home", ".config", "artoo", "config.toml")},
		{"config dir", p.ConfigDir, at("home", ".config", "artoo")},
		{"credentials", p.Credentials, at("home", ".local", "share", "artoo", "credentials.toml")},
		{"data", p.DataDir, at("home", ".local", "share", "artoo")},
		{"sessions", p.Sessions, at("home", ".local", "state", "artoo", "sessions")},
		{"history", p.History, at("home", ".local", "state", "artoo", "history")},
		{"state", p.StateDir, at("home", ".local", "state", "artoo")},
		{"cache", p.CacheDir, at("cache", "artoo")},
	} {
		if got, err := test.get(); got != test.want || err != nil {
			t.Errorf("%s: %q (%v), want %q", test.name, got, err, test.want)
		}
	}
}

func TestNoHomeIsAnErrorOnlyWhenNeeded(t *testing.T) {
	world(t)
	t.Setenv("HOME", "")
	t.Setenv("OPENAI_API_KEY", "k")
	c := mustLoad(t, LoadOptions{})
	if key, err := c.Key(t.Context(), "openai"); err != nil || key.Value.Reveal() != "k" {
		t.Errorf("%q, %v", key.Value.Reveal(), err)
	}
	_, err := c.Paths.Sessions()
	wantError(t, err, "config", "neither XDG_STATE_HOME nor HOME", "set HOME")
}

func TestSelectTools(t *testing.T) {
	all := []string{"read", "write", "bash", "mcp__db__a", "mcp__db__b", "random_number"}
	on := []string{"read", "write", "bash"}
	for _, test := range []struct{ tools, want string }{
		{"", "read write bash"},
		{"all", "read write bash mcp__db__a mcp__db__b random_number"},
		{"bash,read", "read bash"},
		{"-bash", "read write"},
		{"+random_number,-write", "read bash random_number"},
		{"all,-mcp__db__*", "read write bash random_number"},
		{"read,+bash,-bash", "read"},
	} {
		world(t)
		t.Setenv("ARTOO_TOOLS", test.tools)
		got, err := mustLoad(t, LoadOptions{}).SelectTools(all, on)
		if s := strings.Join(got, " "); s != test.want || err != nil {
			t.Errorf("%q gives %q (%v), want %q", test.tools, s, err, test.want)
		}
	}
	world(t)
	_, err := mustLoad(t, LoadOptions{Flags: map[string][]string{"tools": {"raed"}}}).SelectTools(all, on)
	wantError(t, err, "usage", "--tools: no such tool: raed, did you mean read?")
}
