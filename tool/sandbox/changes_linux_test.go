//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A caller looks changes up by path, and one it does not find is a zero Change.
func TestAChangeOfAnotherLayerCannotBeOpened(t *testing.T) {
	s, _ := open(t, nil)
	var all []*Changes
	for range 2 {
		_, _, p := run(t, s, Options{Layer: true}, "echo new > f")
		changes, err := p.Changes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer changes.Discard()
		all = append(all, changes)
	}
	for name, change := range map[string]Change{"zero": {}, "another layer's": all[1].Entries[0]} {
		if file, err := all[0].Open(change); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v, %v", name, file, err)
		}
	}
	file, err := all[0].Open(all[0].Entries[0])
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

// What a directory held is listed as gone where a link or a file takes its place, less
// what the command could not see.
func TestWhatAReplacedDirectoryHeldIsListed(t *testing.T) {
	s, root := open(t, nil)
	for _, path := range []string{"d/a", "d/sub/b", "e/c"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, _, p := run(t, s, Options{Layer: true}, "rm -r d e; ln -s e d; echo file > e")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard()
	var got []string
	for _, c := range changes.Entries {
		rel, err := filepath.Rel(root, c.Path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rel+" "+string(c.Kind))
	}
	slices.Sort(got)
	want := []string{"d replaced", "d/a deleted", "d/sub deleted", "d/sub/b deleted", "e replaced", "e/c deleted"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// Reading ends with its context, and gives the layer up.
func TestReadingALayerEndsWithItsContext(t *testing.T) {
	s, _ := open(t, nil)
	_, _, p := run(t, s, Options{Layer: true}, "echo new > f")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if changes, err := p.Changes(ctx); !errors.Is(err, context.Canceled) || changes != nil || p.room != "" {
		t.Errorf("%v, %v, %q", changes, err, p.room)
	}
}

// What a line leaves closed can be read, and moved from the layer, by an ordinary user.
func TestWhatALineClosedCanBeMovedFromItsLayer(t *testing.T) {
	asNobody(t, "-test.run=TestWhatALineClosed")
	s, root := open(t, nil)
	_, _, p := run(t, s, Options{Layer: true}, "mkdir -p c/x; echo y > c/x/f; chmod -R a-w c; echo n > n; chmod 0 n; mkdir o; echo o > o/f; chmod 0 o")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard()
	for _, c := range changes.Entries {
		from, err := changes.File(c)
		if err == nil && c.Mode.IsRegular() {
			file, openErr := changes.Open(c)
			if err = openErr; err == nil {
				err = errors.Join(file.Close(), os.Rename(from, filepath.Join(root, filepath.Base(c.Path))))
			}
		}
		if err != nil || c.Mode.Perm()&0o222 != 0 && c.Path != filepath.Join(root, "o/f") {
			t.Errorf("%s: %v, %v", c.Path, c.Mode, err)
		}
	}
}
