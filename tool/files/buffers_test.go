package files

import (
	"os"
	"path/filepath"
	"testing"
)

type buffer struct{ text string }

func (b *buffer) Read(string) (string, bool)     { return b.text, true }
func (b *buffer) Write(_ string, s string) error { b.text = s; return nil }

// A text of the editor's that the disk had, too, is no unsaved change once the disk has another: the
// editor has not read that yet.
func TestABufferOlderThanTheDiskIsNotTaken(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "a.txt")
	if err := os.WriteFile(path, []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	editor := &buffer{"one\n"}
	f, err := Open(Config{Root: root, Buffers: editor})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	place, err := f.Resolve(path, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ buffer, disk, want string }{
		{"one\n", "one\n", "one\n"},
		{"one\n", "two\n", "two\n"},     // a command wrote it
		{"typed\n", "two\n", "typed\n"}, // the user changed it
		{"two\n", "two\n", "two\n"},
		{"two\n", "three\n", "three\n"},
	} {
		editor.text = row.buffer
		if got := string(place.AsEdited([]byte(row.disk))); got != row.want {
			t.Errorf("buffer %q, disk %q: %q", row.buffer, row.disk, got)
		}
	}
}
