package confine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestNoSpellingOfTheHomeMakesItAToolchain(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"bin", ".dotnet/corefx/cryptography", ".dotnet/sdk", ".local/share/uv/credentials",
		".local/share/uv/python"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(".", filepath.Join(home, "self")); err != nil {
		t.Fatal(err)
	}
	path := home + "/self:" + home + "/:" + home + "/bin/..:" + home + "//bin:" + home + "/."
	got := Config{Home: home, Root: filepath.Join(home, "project"), Environ: []string{"PATH=" + path}}.toolchains()
	slices.Sort(got)
	want := []string{home + "/.dotnet/sdk", home + "/.local/share/uv/python", home + "/bin"}
	if !slices.Equal(got, want) {
		t.Errorf("toolchains are %q, not %q", got, want)
	}
}
