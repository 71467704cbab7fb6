package journal

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTheJournalIsTheUsersAloneAndOutsideOfTheProject(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1\n"})
	if _, err := os.Lstat(p.cfg.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a journal before anything changed: %v", err)
	}
	p.command(1, func() { p.write("a", "2\n") })
	p.ok(p.Sync())
	err := filepath.WalkDir(p.cfg.Dir, func(path string, d fs.DirEntry, err error) error {
		info, err2 := d.Info()
		p.ok(errors.Join(err, err2))
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	p.ok(err)
	if _, err := Open(Config{Root: p.root, Dir: p.path("journal")}); err == nil {
		t.Error("a journal inside the project was opened")
	}
	if _, err := Open(p.cfg); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := Open(Config{Root: filepath.Dir(p.root), Dir: p.cfg.Dir}); err == nil {
		t.Error("a journal was opened for another project")
	}
}

// TestALogThatIsCutAnywhereIsRead cuts the log at each byte, as a crash of the
// machine may.
func TestALogThatIsCutAnywhereIsRead(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1\n", "b\xff": "1\n"})
	states := []map[string]string{p.look()}
	p.command(1, func() { p.write("a", "2\n"); p.write("b\xff", "2\n") })
	states = append(states, p.look())
	p.ok(p.Close())
	path := filepath.Join(p.cfg.Dir, logName)
	data, err := os.ReadFile(path)
	p.ok(err)
	begun := bytes.Index(data, []byte(`{"type":"walk"`)) // from the end of this line on, what changed is known
	walked := begun + bytes.IndexByte(data[begun:], '\n') + 1
	for cut := range data {
		p.ok(os.WriteFile(path, data[:cut], 0o600))
		// The process dies now. What changes a second after its last sign of life is
		// left alone, and the loop takes longer than that.
		alive := time.Now()
		p.ok(os.Chtimes(filepath.Join(p.cfg.Dir, aliveName), alive, alive))
		j, err := Open(p.cfg)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got := p.look(); !oneOf(got, states) {
			t.Errorf("cut at %d: %s", cut, nearest(got, states))
		} else if cut >= walked && !maps.Equal(got, states[0]) {
			t.Errorf("cut at %d: the command was not taken back", cut)
		}
		p.ok(j.Close())
		p.write("a", "2\n") // where it was taken back
		p.write("b\xff", "2\n")
	}
	p.ok(os.WriteFile(path, data, 0o600))
	p.Journal = nil
	p.reopen()
}

// What changes soon after the last sign of life of a killed process is taken back with
// its step; what changes later is the user's.
func TestWhatChangesAfterTheDeathOfAProcessIsTheUsers(t *testing.T) {
	for after, want := range map[time.Duration]string{beat / 2: "before\n", 3 * beat: "after\n"} {
		p := newProject(t, map[string]string{"a": "before\n"})
		log := filepath.Join(p.cfg.Dir, logName)
		var data []byte
		p.command(1, func() {
			var err error
			data, err = os.ReadFile(log)
			p.ok(err)
		})
		p.ok(p.Close())
		p.ok(os.WriteFile(log, data, 0o600)) // it was killed before the end of the step
		p.write("a", "after\n")
		info, err := os.Stat(p.path("a"))
		p.ok(err)
		alive := info.ModTime().Add(-after)
		p.ok(os.Chtimes(filepath.Join(p.cfg.Dir, aliveName), alive, alive))
		p.Journal = nil
		p.reopen()
		if got := p.look()["a"]; got != "-rw-r--r-- "+want {
			t.Errorf("%v after the last sign of life: %q", after, got)
		}
	}
}

// What a crash left of a content takes no room, and what comes after it is kept.
func TestAPartOfAContentIsCutOff(t *testing.T) {
	p := newProject(t, map[string]string{"a": "first\n"})
	start := p.look()
	p.edit(1, "a", "second\n")
	p.ok(p.Close())
	path := filepath.Join(p.cfg.Dir, objectsName)
	data, err := os.ReadFile(path)
	p.ok(err)
	part := bytes.Repeat([]byte{1}, headerSize+500)
	copy(part[headerSize-8:], "\xe8\x03\x00\x00\x00\x00\x00\x00") // 1,000 bytes were to come
	p.ok(os.WriteFile(path, slices.Concat(data, part), 0o600))
	p.Journal = nil
	p.reopen()
	p.edit(2, "a", "third\n")
	if info, err := os.Stat(path); err != nil || info.Size() > int64(len(data)+headerSize+len("second\n")) {
		t.Errorf("%d bytes, and %d before the part (%v)", info.Size(), len(data), err)
	}
	p.undo(2)
	p.same(start)
}

func TestContentsThatAreCutAnywhereAreNotTakenForWhole(t *testing.T) {
	p := newProject(t, map[string]string{"a": "first\n"})
	p.edit(1, "a", "second\n")
	p.ok(p.Close())
	path := filepath.Join(p.cfg.Dir, objectsName)
	data, err := os.ReadFile(path)
	p.ok(err)
	for cut := range data {
		p.ok(os.WriteFile(path, data[:cut], 0o600))
		p.Journal = nil
		p.reopen()
		plan, err := p.Plan(context.Background(), 1, false)
		p.ok(err)
		if whole := bytes.Contains(data[:cut], []byte("first\n")); whole != (len(plan.Restore) == 1) ||
			whole == (len(plan.Cannot) == 1) {
			t.Errorf("cut at %d: %+v", cut, plan)
		}
		p.ok(p.Close())
	}
	damaged := bytes.Replace(data, []byte("first"), []byte("fjrst"), 1)
	p.ok(os.WriteFile(path, damaged, 0o600))
	p.Journal = nil
	p.reopen()
	plan, err := p.Plan(context.Background(), 1, false)
	p.ok(err)
	if _, err := p.Apply(context.Background(), plan); err == nil || p.look()["a"] != "-rw-r--r-- second\n" {
		t.Errorf("a damaged content was restored: %v, %q", err, p.look()["a"])
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1\n"})
	p.edit(1, "a", "2\n")
	p.ok(p.Close())
	path := filepath.Join(p.cfg.Dir, logName)
	data, err := os.ReadFile(path)
	p.ok(err)
	p.ok(os.WriteFile(path, bytes.Replace(data, []byte(`"v":1`), []byte(`"v":2`), 1), 0o600))
	if j, err := Open(p.cfg); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("%v, %v", j, err)
	}
	p.ok(os.WriteFile(path, data, 0o600))
	p.Journal = nil
	p.reopen()
}

func TestTheTreeOnTheDiskIsTheOneThatWasSeen(t *testing.T) {
	p := newProject(t, map[string]string{"a": "1\n", "d/b": "2\n", "d/e/c": "3\n", "l": "-> a"})
	for i := range 3 {
		p.command(i, func() { p.ok(os.RemoveAll(p.path("d/e"))); p.write("new", string(rune('a'+i))) })
	}
	s := p.Begin(4, "run")
	_, err := s.Snapshot(context.Background())
	p.ok(err)
	onDisk, size, err := readTree(p.files.tree.file, -1)
	p.ok(err)
	if size != p.files.tree.size || len(onDisk) != len(s.tree) {
		t.Errorf("%d bytes of %d, %d directories of %d", size, p.files.tree.size, len(onDisk), len(s.tree))
	}
	differences(onDisk, s.tree, func(pr pair) {
		if pr.before == nil || pr.after == nil || *pr.before != *pr.after {
			t.Errorf("%s: %+v, %+v", pr.path, pr.before, pr.after)
		}
	})
	_, err = s.End()
	p.ok(err)
}

func TestEscapedPathsComeBack(t *testing.T) {
	for _, path := range []string{"plain", "", "100%", "%41", "\xff\xfe", "a\xc3", "ü/日本", "new\nline", "%", "%%2"} {
		if got := unescape(escape(path)); got != path {
			t.Errorf("%q became %q", path, got)
		}
	}
}
