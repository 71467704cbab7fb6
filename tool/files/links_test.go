package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/names"
)

// A file system that ignores case, made of one that does not: names are looked
// up folded.
func TestSpellingWhereCaseIsIgnored(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "Docs", "Straße"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Docs", ".env"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	find := func(path string) string {
		at := dir
		rel, ok := names.Relative(dir, path)
		if !ok || rel == "." {
			return path
		}
		for _, name := range Split(rel) {
			entries, _ := os.ReadDir(at)
			next := filepath.Join(at, name)
			for _, e := range entries {
				if strings.EqualFold(e.Name(), name) || names.Fold(e.Name()) == names.Fold(name) {
					next = filepath.Join(at, e.Name())
				}
			}
			at = next
		}
		return at
	}
	r := resolver{foldCase: true, lstat: func(p string) (fs.FileInfo, error) { return os.Lstat(find(p)) }}
	for path, want := range map[string]string{
		"docs/.ENV":      "Docs/.env",
		"DOCS/new.txt":   "Docs/new.txt",
		"Docs/.env":      "Docs/.env",
		"docs/strasse/x": "Docs/Straße/x",
	} {
		got, err := r.walk(dir, path)
		if err != nil || got != filepath.Join(dir, filepath.FromSlash(want)) {
			t.Errorf("%s: %s %v, want %s", path, got, err, want)
		}
	}
	// A name that folding does not find is found by the file that it leads to.
	r.lstat = func(p string) (fs.FileInfo, error) { return os.Lstat(strings.ReplaceAll(p, "other", "Docs")) }
	if got, _ := r.walk(dir, "other/.env"); got != filepath.Join(dir, "Docs", ".env") {
		t.Errorf("another name of the directory: %s", got)
	}
}

func TestFoldName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		".ENV": ".env", ".ſsh": ".ssh", ".ßh": ".ssh", ".g\u200cit": ".git", ".\u212aube": ".kube",
		"ﬁle": "file", "É": "é", "a_b-1": "a_b-1",
	} {
		if got := names.Fold(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
