//go:build linux || darwin

package names

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestOnlyFilesWithNamesElsewhereAreLinkedOutside(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	put(t, root, "one", "in/a", "out/a", "dir/x")
	for _, pair := range [][2]string{{"in/a", "in/b"}, {"in/a", "dir/c"}, {"out/a", "out/b"}} {
		if err := os.Link(filepath.Join(root, pair[0]), filepath.Join(root, pair[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "out/a"), filepath.Join(elsewhere, "a")); err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, name := range []string{"dir", "dir/c", "dir/x", "in/a", "in/b", "missing", "one", "out/a", "out/b"} {
		path := filepath.Join(root, name)
		if expected := slices.Contains([]string{"dir/c", "in/a", "in/b", "out/a", "out/b"}, name); Linked(path) != expected {
			t.Errorf("%s is linked: %v", name, !expected)
		}
		paths = append(paths, path)
	}
	expected := []string{filepath.Join(root, "out/a"), filepath.Join(root, "out/b")}
	if got := Outside(paths); !slices.Equal(got, expected) {
		t.Errorf("outside are %q", got)
	}
}
