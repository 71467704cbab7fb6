package builtin

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/files"
)

func TestWriteFileAtomic(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"old": "old", "dir/x": "x"})
	w.link("old", "link")
	w.link(w.path("dir/new"), "link-new")
	f := w.env.Files
	for _, test := range []struct{ path, file string }{
		{"old", "old"}, {"link", "old"}, {"new", "new"}, {"link-new", "dir/new"}, {"deep/er/new", "deep/er/new"},
	} {
		state, err := f.WriteFileAtomic(w.path(test.path), []byte("by "+test.path), nil)
		if err != nil || w.content(test.file) != "by "+test.path || state.Size != int64(len("by "+test.path)) {
			t.Errorf("%s: %+v %v", test.path, state, err)
		}
	}
	if info, err := os.Lstat(w.path("link")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is no link any more: %v %v", info, err)
	}
	if diff := cmp.Diff([]string{"deep", "dir", "link", "link-new", "new", "old"}, w.names(".")); diff != "" {
		t.Error(diff)
	}
}

func TestAFileWithOtherNamesStaysOneFile(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a": "one\ntwo\nthree\n", "d/x": ""})
	for _, name := range []string{"b", "d/c"} {
		if err := os.Link(w.path("a"), w.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(w.path("a"), 0o640); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"d/x", "new"} {
		access, err := Write().Plan(t.Context(), w.env, []byte(`{"path":"`+name+`","content":"x"}`))
		if err != nil || access.OtherNames {
			t.Errorf("%s: %+v %v", name, access, err)
		}
	}
	access, err := Edit().Plan(t.Context(), w.env, []byte(`{"path":"b","old_string":"two","new_string":"2"}`))
	if err != nil || !access.OtherNames {
		t.Errorf("%+v %v", access, err)
	}
	w.ok(Edit(), in{"path": "b", "old_string": "two", "new_string": "2"})
	w.ok(Read(), in{"path": "d/c"})
	w.ok(Write(), in{"path": "d/c", "content": "short\n"})
	for _, name := range []string{"a", "b", "d/c"} {
		info, err := os.Stat(w.path(name))
		if err != nil || w.content(name) != "short\n" || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %q %v %v", name, w.content(name), info, err)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "d"}, w.names(".")); diff != "" {
		t.Error(diff)
	}
	stale := files.State{Size: 99}
	if _, err := w.env.Files.WriteFileAtomic(w.path("a"), []byte("new"), &stale); !errors.Is(err, files.ErrChanged) ||
		w.content("a") != "short\n" {
		t.Errorf("changed: %v", err)
	}
}

func TestWriteFileAtomicExpectsAContent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path     string
		expected []byte
		written  bool
	}{
		"the same":         {"a", []byte("one\n"), true},
		"as long":          {"a", []byte("two\n"), false},
		"none, and is one": {"a", nil, false},
		"none":             {"new", nil, true},
		"one, and is none": {"new", []byte("one\n"), false},
		"empty":            {"empty", []byte{}, true},
		"empty, not none":  {"empty", nil, false},
	} {
		w := newFileWorld(t, map[string]string{"a": "one\n", "empty": ""})
		expected := files.StateWith(test.expected)
		_, err := w.env.Files.WriteFileAtomic(w.path(test.path), []byte("more\n"), &expected)
		if written := err == nil; written != test.written {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of changes that begin with one content only one is made: the others would be lost.
func TestOfWritersSideBySideOneWins(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "0"})
	for round := range 20 {
		expected := files.StateWith([]byte(w.content("f")))
		var start, end sync.WaitGroup
		var won atomic.Int32
		start.Add(1)
		for n := range 8 {
			end.Go(func() {
				start.Wait()
				if _, err := w.env.Files.WriteFileAtomic(w.path("f"), fmt.Append(nil, round, n), &expected); err == nil {
					won.Add(1)
				} else if !errors.Is(err, files.ErrChanged) {
					t.Error(err)
				}
			})
		}
		start.Done()
		if end.Wait(); won.Load() != 1 {
			t.Fatalf("round %d: %d of 8 wrote over the same content", round, won.Load())
		}
	}
}

func TestWriteFileAtomicLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a": "a", "dir/x": "x"})
	f := w.env.Files
	stale := files.State{Size: 99}
	for name, test := range map[string]struct {
		path   string
		expect *files.State
	}{
		"directory":       {"dir", nil},
		"under a file":    {"a/b", nil},
		"changed":         {"a", &stale},
		"came":            {"a", &files.State{Missing: true}},
		"gone":            {"n/e/w", &stale},
		"too long a name": {"n/" + longName(), nil},
	} {
		if _, err := f.WriteFileAtomic(w.path(test.path), []byte("new"), test.expect); err == nil {
			t.Errorf("%s: written", name)
		}
		if diff := cmp.Diff([]string{"a", "dir"}, w.names(".")); diff != "" || w.content("a") != "a" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if _, err := f.WriteFileAtomic(w.path("a"), []byte("new"), &stale); !errors.Is(err, files.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
}

func longName() string {
	name := make([]byte, 300)
	for i := range name {
		name[i] = 'x'
	}
	return string(name)
}

// Readers see the old content or the new, never a part of one.
func TestWriteFileAtomicIsAtomic(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": ""})
	contents := map[string]bool{"": true}
	var versions [][]byte
	for i := range 20 {
		data := make([]byte, 50000+i)
		for j := range data {
			data[j] = byte('a' + i)
		}
		versions = append(versions, data)
		contents[string(data)] = true
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	readers.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if data, err := os.ReadFile(w.path("f")); err != nil || !contents[string(data)] {
				t.Errorf("saw %d bytes, %v", len(data), err)
				return
			}
		}
	})
	var writers sync.WaitGroup
	for _, data := range versions {
		writers.Go(func() {
			if _, err := w.env.Files.WriteFileAtomic(w.path("f"), data, nil); err != nil {
				t.Error(err)
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if diff := cmp.Diff([]string{"f"}, w.names(".")); diff != "" {
		t.Error(diff)
	}
}

// Of several writers that expect the same old file one wins.
func TestWriteFileAtomicExpect(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil)
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 8 {
		wg.Go(func() {
			if _, err := w.env.Files.WriteFileAtomic(filepath.Join(w.root, "f"), []byte("x"),
				&files.State{Missing: true}); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d writers won", won)
	}
}
