package confine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/sandbox"
)

func TestNoSpellingOfTheHomeMakesItAToolchain(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, dir := range []string{"bin", ".dotnet/corefx/cryptography", ".dotnet/sdk", ".local/share/uv/credentials",
		".local/share/uv/python"} {
		must(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	must(t, os.Symlink(".", filepath.Join(home, "self")))
	path := home + "/self:" + home + "/:" + home + "/bin/..:" + home + "//bin:" + home + "/."
	got := Config{Config: sandbox.Config{Home: home, Root: filepath.Join(home, "project")}, Environ: []string{"PATH=" + path}}.toolchains()
	slices.Sort(got)
	want := []string{home + "/.dotnet/sdk", home + "/.local/share/uv/python", home + "/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("toolchains are %q, not %q", got, want)
	}
}

func TestCachesLieWhereVariablesSay(t *testing.T) {
	t.Parallel()
	config := Config{Config: sandbox.Config{Home: "/home/u", Root: "/p"}, Cache: "/home/u/.cache/artoo"}
	for _, c := range []struct{ environ, name, want string }{
		{"", "go-build", "/home/u/.cache/go-build"},
		{"XDG_CACHE_HOME=/data/cache", "go-build", "/data/cache/go-build"},
		{"XDG_CACHE_HOME=/data/cache", "pip", "/data/cache/pip"},
		{"XDG_CACHE_HOME=/data/cache", "npm", "/home/u/.npm/_cacache"},
		{"XDG_CACHE_HOME=cache", "uv", "/home/u/.cache/uv"},
		{"GOPATH=/go:/other", "go-mod", "/go/pkg/mod"},
		{"GOPATH=/go GOMODCACHE=/mod", "go-mod", "/mod"},
		{"CARGO_HOME=/usr/local/cargo", "cargo-registry", "/usr/local/cargo/registry"},
		{"CCACHE_DIR=/fast", "ccache", "/fast"},
		{"", "sccache", "/home/u/.cache/sccache"},
		{"npm_config_cache=/data/npm", "npm", "/data/npm/_cacache"},
	} {
		config.Environ = strings.Fields(c.environ)
		for _, cache := range config.caches() {
			if filepath.Base(cache.Own) == c.name && cache.Path != c.want {
				t.Errorf("%s: the cache %s is at %s, not %s", c.environ, c.name, cache.Path, c.want)
			}
		}
	}
}

// must fails the test where something that it only needs did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
