package names

import (
	"os"
	"path/filepath"
	"testing"
)

func TestPathsAreSeenAsTheKernelFollowsThem(t *testing.T) {
	root := Real(t.TempDir())
	if err := os.Mkdir(filepath.Join(root, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("dir", filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(root, "dir", "new", "file")
	if got := Real(filepath.Join(root, "link", "new", "file")); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct {
		dir, path, rel string
		ok             bool
	}{
		{"/a", "/a", ".", true},
		{"/a", "/a/b", "b", true},
		{"/a", "/ab", "", false},
		{"/a", "/", "", false},
		{"/", "/a", "a", true},
	} {
		if rel, ok := Relative(c.dir, c.path); rel != c.rel || ok != c.ok || Within(c.dir, c.path) != c.ok {
			t.Errorf("%s in %s: %q %v", c.path, c.dir, rel, ok)
		}
	}
}
