package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"artoo/tool"
	"artoo/tool/sandbox"
)

// link gives a file of the project another name.
func link(t testing.TB, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(from, to); err != nil {
		t.Fatal(err)
	}
}

func TestFilesWithNamesOutsideOfTheProjectAreFound(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"a", "d/b", ".git/c", "e"} {
		put(t, filepath.Join(root, name), "text")
	}
	link(t, filepath.Join(root, "a"), filepath.Join(root, "inside"))
	link(t, filepath.Join(root, "d/b"), filepath.Join(outside, "b"))
	link(t, filepath.Join(root, ".git/c"), filepath.Join(outside, "c"))
	o := newOthersRun([]string{root}, nil)
	for range 2 {
		others, linked, err := o.look()
		if err != nil || !slices.Equal(others, []string{filepath.Join(root, ".git")}) ||
			!slices.Equal(linked, []string{filepath.Join(root, "d/b")}) {
			t.Errorf("others run %q, outside are %q, %v", others, linked, err)
		}
	}
	if made, err := o.since([]string{filepath.Join(root, ".git")}); err != nil || len(made) != 0 {
		t.Errorf("it is said to have made %q, %v", made, err)
	}
}

func TestManyFilesWithNamesOutsideAreHeldByTheirDirectories(t *testing.T) {
	root, store := t.TempDir(), t.TempDir()
	for i := range 40 {
		for k := range 20 {
			name := filepath.Join(root, "node_modules", ".pnpm", fmt.Sprint("p", i), "lib", fmt.Sprint(k))
			put(t, name, "text")
			link(t, name, filepath.Join(store, fmt.Sprint(i, "-", k)))
		}
	}
	put(t, filepath.Join(root, "node_modules", ".cache", "x"), "text")
	put(t, filepath.Join(root, "top"), "text")
	link(t, filepath.Join(root, "top"), filepath.Join(store, "top"))
	_, linked, err := newOthersRun([]string{root}, nil).look()
	if err != nil || len(linked) != 41 || linked[0] != filepath.Join(root, "node_modules/.pnpm/p0/lib") ||
		linked[40] != filepath.Join(root, "top") {
		t.Errorf("%d: %q, %v", len(linked), linked, err)
	}
}

// What git would take for a bare repository is protected where it is one, and where a
// command makes one, HEAD is what it made: the rest may be the user's.
func TestBareRepositoriesAreWhatOthersRun(t *testing.T) {
	root := t.TempDir()
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(root, name))
		}
		return paths
	}
	for _, name := range []string{"fixture.git/HEAD", "fixture.git/config", "fixture.git/objects/x", "fixture.git/refs/heads/x",
		"fixture.git/AGENTS.md", "fixture.git/Jenkinsfile", "docs/HEAD", "lib/objects/a", "lib/refs/b", "lib/config"} {
		put(t, filepath.Join(root, name), "text")
	}
	o := newOthersRun([]string{root}, nil)
	before, _, err := o.look()
	expected := at("fixture.git/AGENTS.md", "fixture.git/HEAD", "fixture.git/Jenkinsfile", "fixture.git/config",
		"fixture.git/objects", "fixture.git/refs")
	if err != nil || !slices.Equal(before, expected) {
		t.Errorf("others run %q, %v", before, err)
	}
	put(t, filepath.Join(root, "fixture.git/hooks/post-update"), "text")
	put(t, filepath.Join(root, "lib/HEAD"), "ref: refs/heads/x")
	put(t, filepath.Join(root, "lib/AGENTS.md"), "text")
	made, err := o.since(before)
	if err != nil || !slices.Equal(made, at("fixture.git/hooks", "lib/AGENTS.md", "lib/HEAD")) {
		t.Errorf("made were %q, %v", made, err)
	}
	if err := o.remove(made); err != nil {
		t.Error(err)
	}
	if after, err := Appeared(root, nil)(before); err != nil || len(after) != 0 {
		t.Errorf("after that there are %q, %v", after, err)
	}
}

func TestTheFirstCommandWaitsForTheLookAheadOfIt(t *testing.T) {
	root, elsewhere := t.TempDir(), t.TempDir()
	path := filepath.Join(root, "deep", "linked")
	if err := os.Mkdir(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, path, filepath.Join(elsewhere, "name"))
	c := New(Config{Root: root, Home: elsewhere, Files: func() *tool.Files { return nil }}, sandbox.Facts{Mechanism: sandbox.None})
	c.Warm()
	t.Cleanup(func() { c.Close() })
	if err := c.open(); err != nil {
		t.Fatal(err)
	}
	if _, outside, err := c.others.look(); err != nil || !slices.Equal(outside, []string{path}) {
		t.Errorf("outside are %q, %v", outside, err)
	}
}

// BenchmarkLook is the look before a command in a tree of 100,000 files, the first
// one and those that follow.
func BenchmarkLook(b *testing.B) {
	root := b.TempDir()
	for i := range 1000 {
		dir := filepath.Join(root, fmt.Sprint("d", i%30), fmt.Sprint("e", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", k)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	o := newOthersRun([]string{root}, nil)
	begun := time.Now()
	if _, _, err := o.look(); err != nil {
		b.Fatal(err)
	}
	first := time.Since(begun)
	for b.Loop() {
		if _, _, err := o.look(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds()), "first-ms")
}
