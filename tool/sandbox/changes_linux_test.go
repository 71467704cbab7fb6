//go:build amd64 || arm64

package sandbox

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/tool/needs"
)

func TestOnlyWhatALayerChangedCanBeOpened(t *testing.T) {
	s, _ := open(t, nil)
	_, _, p := run(t, s, Options{Layer: true}, "echo new > f")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	path := changes.Entries[0].Path
	for _, other := range []string{"", filepath.Dir(path), path + "/../f", path + "2"} {
		if file, err := changes.Open(other); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v, %v", other, file, err)
		}
	}
	file, err := changes.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}

// The content of a directory is listed as gone where a link or a file takes its place, except paths hidden from the
// command.
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
	defer changes.Discard(false)
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

// Files that a line leaves closed can be read, and moved from the layer, by an ordinary user.
func TestWhatALineClosedCanBeMovedFromItsLayer(t *testing.T) {
	needs.Namespaces(t)
	asNobody(t, "-test.run=TestWhatALineClosed")
	s, root := open(t, nil)
	_, _, p := run(t, s, Options{Layer: true}, "mkdir -p c/x; echo y > c/x/f; chmod -R a-w c; echo n > n; chmod 0 n; mkdir o; echo o > o/f; chmod 0 o")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	for _, c := range changes.Entries {
		var err error
		if c.Mode.IsRegular() {
			var file *os.File
			if file, err = changes.Open(c.Path); err == nil {
				err = errors.Join(file.Close(), os.Rename(changes.Path(c.Path), filepath.Join(root, filepath.Base(c.Path))))
			}
		}
		if err != nil || c.Mode.Perm()&0o222 != 0 && c.Path != filepath.Join(root, "o/f") {
			t.Errorf("%s: %v, %v", c.Path, c.Mode, err)
		}
	}
}

// A file that someone removes while the command runs does not count as new where the command had written to it. One
// that the command moved or made itself does.
func TestWhatIsRemovedBelowWhileTheCommandRunsHasMoved(t *testing.T) {
	s, root := open(t, nil)
	for _, path := range []string{"removed", "sub/removed", "gone/f", "moved", "other/renamed", "stays"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, _, p := run(t, s, Options{Layer: true}, "for f in removed sub/removed gone/f stays; do echo late > $f; done; "+
		"echo n > new; mkdir d; mv other/renamed d/renamed; mv other other2")
	for _, path := range []string{"removed", "sub/removed", "gone"} {
		if err := os.RemoveAll(filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	var got []string
	for _, c := range changes.Entries {
		if c.Before.Moved && !c.Before.Mode.IsDir() {
			got = append(got, c.Path[len(root)+1:])
		}
	}
	if want := []string{"gone", "gone/f", "removed", "sub/removed"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// A command's write to a hidden place is listed as such, and all below it.
func TestWhatIsMadeInAHiddenPlaceIsListedAsHidden(t *testing.T) {
	s, root := open(t, func(c *Config) {
		c.Denied = func() (paths []string, err error) {
			for _, name := range []string{"pipe", "tube"} {
				paths = append(paths, filepath.Join(c.Root, name))
				err = errors.Join(err, os.WriteFile(paths[len(paths)-1], nil, 0o600))
			}
			return paths, err
		}
	})
	_, _, p := run(t, s, Options{Layer: true}, "echo hi > pipe; mkdir tube; echo in > tube/in; echo new > f")
	changes, err := p.Changes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer changes.Discard(false)
	got := map[string]bool{}
	for _, c := range changes.Entries {
		got[c.Path[len(root)+1:]] = c.Hidden
	}
	if want := map[string]bool{"f": false, "pipe": true, "tube": true, "tube/in": true}; !maps.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}
