package export

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, begins string }{
		{"", "artoo-k3f9qx2a.md", "# artoo session"},
		{"sub", "sub/artoo-k3f9qx2a.md", "# artoo session"},
		{"a.md", "a.md", "# artoo session"},
		{"b.JSON", "b.JSON", "{\n  \"v\": 1"},
		{"e", "e", "# artoo session"},
		{filepath.Join(dir, "sub", "f.md"), "sub/f.md", "# artoo session"},
	} {
		want := filepath.Join(dir, filepath.FromSlash(c.path))
		path, err := File(dir, c.name, session())
		if err != nil || path != want {
			t.Errorf("%q: %s, %v", c.name, path, err)
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.HasPrefix(string(data), c.begins) {
			t.Errorf("%s: %.40q, %v", c.path, data, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", c.path, info.Mode(), err)
		}
	}
	leftOvers(t, dir)
}

func TestFileRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"old.md": "mine", "artoo-k3f9qx2a.md": "mine"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere.md", filepath.Join(dir, "link.md")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"old.md": "already exists", "": "already exists", ".": "already exists", "link.md": "already exists",
		"-": "is not a file name", "a.html": "has an ending of no known format",
		"missing/a.md": "cannot be written", "missing/": "cannot be written",
	} {
		_, err := File(dir, name, session())
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || wrong.ErrorHint() == "" ||
			wrong.ErrorKind() != "usage" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "old.md")); string(data) != "mine" || err != nil {
		t.Errorf("the old file holds %q, %v", data, err)
	}
	// A file that comes while the session is written is not replaced either.
	temp := filepath.Join(dir, "temp")
	if err := os.WriteFile(temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := place(temp, filepath.Join(dir, "old.md")); err == nil || !strings.Contains(err.Error(), "already exists") {
		t.Errorf("a file that came meanwhile: %v", err)
	}
	leftOvers(t, dir)
}

func leftOvers(t *testing.T, dir string) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(dir, ".artoo-*")); err != nil || found != nil {
		t.Errorf("left behind: %v, %v", found, err)
	}
}

func TestFileNameOfAnOddID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{"": "artoo-session.md", "../a b": "artoo----a-b.md", "k3f9": "artoo-k3f9.md"} {
		if got := fileName(id); got != want {
			t.Errorf("%q: %s", id, got)
		}
	}
}
