package names

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sourcegraph/conc/panics"
)

func put(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func secrets(path string, kind fs.FileMode) (found, descend bool) {
	return strings.HasPrefix(filepath.Base(path), ".env") && kind.IsRegular(), filepath.Base(path) != "objects"
}

func expect(t *testing.T, f *Finder, root string, expected ...string) {
	t.Helper()
	got, err := f.Find(root)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range got {
		got[i], _ = filepath.Rel(root, path)
	}
	if !slices.Equal(got, expected) {
		t.Errorf("found %q, expected %q", got, expected)
	}
}

// Whatever changes between two searches is seen by the second one.
func TestNothingThatChangedIsMissed(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "a/.env", "a/b/c/x", "objects/.env", ".envrc", "d/e")
	f := New(secrets)
	expect(t, f, root, ".envrc", "a/.env")
	expect(t, f, root, ".envrc", "a/.env")
	put(t, root, "a/b/c/.env.local")
	expect(t, f, root, ".envrc", "a/.env", "a/b/c/.env.local")
	if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, "z")); err != nil {
		t.Fatal(err)
	}
	expect(t, f, root, ".envrc", "z/.env", "z/b/c/.env.local")
	// A directory takes the place of another one, with the other's times.
	old, err := os.Lstat(filepath.Join(root, "d"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "z", "b"), filepath.Join(root, "new")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "new"), filepath.Join(root, "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(root, "d"), old.ModTime(), old.ModTime()); err != nil {
		t.Fatal(err)
	}
	expect(t, f, root, ".envrc", "d/c/.env.local", "z/.env")
	if err := os.RemoveAll(filepath.Join(root, "z")); err != nil {
		t.Fatal(err)
	}
	expect(t, f, root, ".envrc", "d/c/.env.local")
}

// A directory that has not changed for a while is not listed again.
func TestADirectoryThatHasNotChangedIsNotListedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put(t, root, "a/.env", "b/c/x")
	var asked atomic.Int64
	f := New(func(path string, kind fs.FileMode) (bool, bool) {
		asked.Add(1)
		return secrets(path, kind)
	})
	for deadline := time.Now().Add(10 * time.Second); ; {
		before := asked.Load()
		expect(t, f, root, "a/.env")
		if asked.Load() == before {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the directories are listed each time")
		}
	}
}

// A crash of a worker is one of the search, the other workers end, and the next search
// works.
func TestACrashOfAWorkerIsTheSearchsCrash(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for i := range 200 {
		put(t, root, fmt.Sprintf("d%d/e/.env", i))
	}
	var planted atomic.Bool
	planted.Store(true)
	f := New(func(path string, kind fs.FileMode) (found, descend bool) {
		if planted.Load() && strings.HasSuffix(path, "7/e") {
			panic("planted")
		}
		return secrets(path, kind)
	})
	crash := panics.Try(func() { _, _ = f.Find(root) })
	if crash == nil || crash.Value.(*panics.Recovered).Value != "planted" {
		t.Fatal(crash)
	}
	planted.Store(false)
	if found, err := f.Find(root); len(found) != 200 || err != nil {
		t.Errorf("%d found, %v", len(found), err)
	}
}

func TestOnlyFilesWithNamesElsewhereAreLinkedOutside(t *testing.T) {
	t.Parallel()
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

func TestPathsAreSeenAsTheKernelFollowsThem(t *testing.T) {
	t.Parallel()
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

func TestATildeIsTheHome(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"~", "/home/ada", "/home/ada"}, {"~/bin/x", "/home/ada", "/home/ada/bin/x"}, {"~bob/x", "/home/ada", "~bob/x"},
		{"x/~", "/home/ada", "x/~"}, {"/x", "/home/ada", "/x"}, {"~/x", "", "~/x"},
	} {
		if got := InHome(c[0], c[1]); got != c[2] {
			t.Errorf("%s with the home %q is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
