//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io/fs"
	"testing"
)

// A caller looks changes up by path, and one it does not find is a zero Change.
func TestAChangeOfAnotherLayerCannotBeOpened(t *testing.T) {
	s, _ := open(t, nil)
	var all []*Changes
	for range 2 {
		_, _, p := run(t, s, Options{Layer: true}, "echo new > f")
		changes, err := p.Changes()
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
