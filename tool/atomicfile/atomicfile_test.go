package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// content is that of a directory, by name: a file's content, or where a link leads.
func content(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type()&fs.ModeSymlink != 0 {
			all[e.Name()], err = os.Readlink(path)
		} else if !e.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			all[e.Name()] = string(data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestAFileIsMadeAndReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "settings.toml")
	for i, mode := range []fs.FileMode{0o600, 0o644} {
		text := []byte{byte('a' + i)}
		if err := Write(path, text, mode); err != nil {
			t.Fatal(err)
		}
		all := content(t, filepath.Dir(path))
		info, err := os.Stat(path)
		if err != nil || len(all) != 1 || all["settings.toml"] != string(text) || info.Mode().Perm() != mode && os.PathSeparator == '/' {
			t.Errorf("%v %v %v", all, info.Mode(), err)
		}
	}
}

func TestALinkIsKept(t *testing.T) {
	t.Parallel()
	home, dotfiles := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dotfiles, "settings"), []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(home, "link")
	if err := os.Symlink(filepath.Join(dotfiles, "settings"), link); err != nil {
		t.Fatal(err)
	}
	if err := Write(link, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if at, there := content(t, home), content(t, dotfiles); len(at) != 1 || at["link"] != filepath.Join(dotfiles, "settings") ||
		len(there) != 1 || there["settings"] != "new" {
		t.Error(at, there)
	}
}

func TestAFailureLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "by a directory"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("new"), 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if all := content(t, dir); len(all) != 0 {
		t.Errorf("left: %v", all)
	}
	if err := Write(filepath.Join(dir, "file", "below"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(filepath.Join(dir, "file", "below", "a file"), nil, 0o600); err == nil {
		t.Error("a file was taken for a directory")
	}
}

// A file that a killed Write leaves can be found by its name.
func TestTemporaryNamesFitTheirPattern(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"credentials.toml", "history", "AGENTS.md", ".hidden"} {
		f, err := os.CreateTemp(t.TempDir(), Temporary(name))
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		fits := func(of string) bool {
			ok, err := filepath.Match(Temporary(of), filepath.Base(f.Name()))
			return ok && err == nil
		}
		if !fits(name) || slices.ContainsFunc([]string{"other.toml", "other"}, fits) {
			t.Errorf("%s: %s", name, f.Name())
		}
	}
}
