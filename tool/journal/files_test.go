package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/sweep"
)

func TestTheJournalIsTheUsersAloneAndOutsideOfTheProject(t *testing.T) {
	t.Parallel()
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
	if _, err := Open(p.cfg); !errors.Is(err, ErrInUse) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := Open(Config{Root: filepath.Dir(p.root), Dir: p.cfg.Dir}); err == nil {
		t.Error("a journal was opened for another project")
	}
}

// TestWithoutAProjectOnlyNamedPathsAreKept, as in a home directory, which also holds the journal.
func TestWithoutAProjectOnlyNamedPathsAreKept(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	if _, err := Open(Config{Root: p.root, Dir: p.path("journal")}); err == nil {
		t.Error("a journal inside the project was opened")
	}
	p.cfg.NamedOnly, p.cfg.Dir, p.cfg.State = true, p.path("share/state/s1"), p.path("share/state")
	p.reopen()
	p.edit(1, "a", "2\n")
	if changed := p.command(1, func() { p.write("b", "2\n") }); len(changed.Changes)+len(changed.Lacks) > 0 {
		t.Errorf("a line changed %+v", changed)
	}
	p.undo(1)
	for path, want := range map[string]string{"a": "1\n", "b": "2\n"} {
		if data, err := os.ReadFile(p.path(path)); string(data) != want {
			t.Errorf("%s is %q, %v", path, data, err)
		}
	}
}

// TestALogThatIsCutAnywhereIsRead cuts the log at each byte, as a crash of the
// machine may.
func TestALogThatIsCutAnywhereIsRead(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b\xff": "1\n"})
	states := []map[string]string{p.look()}
	p.command(1, func() { p.write("a", "2\n"); p.write("b\xff", "2\n") })
	states = append(states, p.look())
	p.ok(p.Close())
	path := filepath.Join(p.cfg.Dir, logName)
	data, err := os.ReadFile(path)
	p.ok(err)
	begun := bytes.Index(data, []byte(`{"type":"walk"`))
	walked := begun + bytes.IndexByte(data[begun:], '\n') + 1
	for _, cut := range cuts(t, data) {
		p.ok(os.WriteFile(path, data[:cut], 0o600))
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
		p.write("a", "2\n") // where it was undone
		p.write("b\xff", "2\n")
	}
	p.ok(os.WriteFile(path, data, 0o600))
	p.Journal = nil
	p.reopen()
}

// cuts are the places to cut a log at. Within a line all are alike, since no part of an
// object is JSON: of each line they are its begin, a part, all but its last brace, and all
// but its end.
func cuts(t *testing.T, log []byte) (at []int) {
	t.Helper()
	if sweep.Whole(t) {
		for cut := range log {
			at = append(at, cut)
		}
		return at
	}
	begin := 0
	for line := range bytes.Lines(log) {
		at = append(at, begin, begin+len(line)/2, begin+len(line)-2, begin+len(line)-1)
		begin += len(line)
	}
	return at
}

// Changes soon after the last sign of life of a killed process are undone with its step; later ones are the user's.
func TestWhatChangesAfterTheDeathOfAProcessIsTheUsers(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{touchEvery / 2: "before\n", 3 * touchEvery: "after\n"} {
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
		p.ok(os.Chtimes(log, alive, alive))
		p.Journal = nil
		p.reopen()
		if got := p.look()["a"]; got != "-rw-r--r-- "+want {
			t.Errorf("%v after the last sign of life: %q", after, got)
		}
	}
}

// A journal without a place for contents is not opened.
func TestAJournalWithoutItsContentsIsNotOpened(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "first\n"})
	p.edit(1, "a", "second\n")
	p.ok(p.Close())
	objects := filepath.Join(p.cfg.Dir, objectsName)
	p.ok(errors.Join(os.RemoveAll(objects), os.WriteFile(objects, nil, 0o600)))
	if j, err := Open(p.cfg); err == nil || j != nil || !strings.Contains(err.Error(), objectsName) {
		t.Errorf("opened, or not said why not: %v", err)
	}
}

// A part of a content that a crash left takes no room, and does not count as a content.
func TestAPartOfAContentIsRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "first\n"})
	start := p.look()
	p.edit(1, "a", "second\n")
	p.ok(p.Close())
	objects := filepath.Join(p.cfg.Dir, objectsName)
	before := lookAt(t, objects)
	p.ok(os.WriteFile(filepath.Join(objects, partName), make([]byte, 500), 0o600)) // 1,000 were to come
	p.ok(os.WriteFile(filepath.Join(objects, hashOf([]byte("third\n"))), nil, 0o600))
	p.Journal = nil
	p.reopen()
	if d := difference(lookAt(t, objects), before); d != "" {
		t.Error(d)
	}
	p.edit(2, "a", "third\n")
	p.edit(3, "a", "fourth\n")
	p.undo(1)
	if got := p.look()["a"]; got != "-rw-r--r-- third\n" {
		t.Errorf("a is %q", got)
	}
	p.undo(2)
	p.same(start)
}

// A content that is damaged, or cut anywhere, restores nothing.
func TestADamagedContentIsNotRestored(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "first\n"})
	p.edit(1, "a", "second\n")
	path := filepath.Join(p.cfg.Dir, objectsName, hashOf([]byte("first\n")))
	for _, damaged := range []string{"", "f", "first", "fjrst\n", "first\n\n"} {
		p.ok(p.Close())
		p.ok(os.WriteFile(path, []byte(damaged), 0o600))
		p.Journal = nil
		p.reopen()
		plan := p.planned(1, false)
		if damaged == "" && len(plan.Cannot) == 1 && plan.Cannot[0].Why == Lost {
			continue
		}
		_, err := p.Apply(context.Background(), plan)
		if err == nil || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), path) || p.look()["a"] != "-rw-r--r-- second\n" {
			t.Errorf("%q was restored: %v, %q", damaged, err, p.look()["a"])
		}
	}
}

func TestANewerFormatIsRefused(t *testing.T) {
	t.Parallel()
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

func TestTheTreeInTheLogIsTheOneThatWasSeen(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "d/b": "2\n", "d/e/c": "3\n", "l": "-> a", "odd\xff": "4\n"})
	for i := range 3 {
		p.command(i, func() { p.ok(os.RemoveAll(p.path("d/e"))); p.write("new", string(rune('a'+i))) })
	}
	p.ok(os.Remove(p.path("d/b")))
	s := p.Begin(4, "run")
	p.snapshot(s)
	p.write("late", "x")
	p.command(5, func() { p.write("later", "x") })
	for step, want := range map[int]tree{s.ID: s.tree, 0: p.tree} {
		got, err := readTree(p.files.log.file, step)
		p.ok(err)
		if !maps.EqualFunc(got, want, func(a, b *folder) bool { return slices.Equal(a.entries, b.entries) }) {
			t.Errorf("step %d: %v, not %v", step, got, want)
		}
	}
	p.ended(s)
}

// Paths in the log may be any bytes, other words are made valid.
func TestALineHoldsPathsOfAnyBytes(t *testing.T) {
	t.Parallel()
	odd := "a\xff%\"\n"
	want := line{Type: lineChange, What: "edit \ufffd", Path: odd, From: odd, Root: odd, Gone: []string{odd}, Unseen: []string{odd},
		Before: &State{Target: odd, Peer: odd}, Entries: []sawEntry{{Name: odd, Content: odd}}}
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	l := &log{file: file, at: func(string) error { return nil }}
	written := want
	written.What, written.Entries = "edit \xff", slices.Clone(want.Entries)
	err = l.append(written)
	var got line
	if _, readErr := readLog(file, l.at, func(l line) { got = l }); err != nil || readErr != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v (%v, %v)", got, want, err, readErr)
	}
}

// onDisk reports whether all contents are on the disk.
func (p *project) onDisk() bool {
	p.files.objects.mu.Lock()
	defer p.files.objects.mu.Unlock()
	return len(p.files.objects.unsynced) == 0
}

// Steps that follow each other go to the disk together, each within a second.
func TestStepsOfAMomentGoToTheDiskTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, map[string]string{"a": "0\n"})
		var first time.Time // the end of the first step that is not on the disk
		syncs := 0
		for n := range 30 {
			p.edit(1, "a", fmt.Sprint(n, "\n"))
			if first.IsZero() {
				first = time.Now()
			}
			<-time.After(100 * time.Millisecond)
			synctest.Wait()
			if age := time.Since(first); p.onDisk() {
				first = time.Time{}
				syncs++
			} else if age >= time.Second {
				t.Errorf("a step waits for the disk for %v", age)
			}
		}
		if syncs < 3 || syncs > 5 {
			t.Errorf("in three seconds steps were synced %d times", syncs)
		}
		<-time.After(syncAfter)
		synctest.Wait()
		if !p.onDisk() {
			t.Error("the last steps are not on the disk")
		}
	})
}

// Each file that a step is written to goes to the disk, and one that cannot is an error.
func TestAFileThatDoesNotReachTheDiskIsAnError(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]func(*files) *os.File{
		logName: func(f *files) *os.File { return f.log.file }, objectsName: func(f *files) *os.File { return f.objects.place.dir }} {
		p := newProject(t, map[string]string{"a": "0\n"})
		p.edit(1, "a", "1\n")
		p.files.objects.flush() // the step's contents are written beside it
		p.ok(file(p.files).Close())
		if err := p.Sync(); !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The end of a turn does not wait for the next tick.
func TestWhatIsToBeSyncedSoonDoesNotWaitForOtherSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, map[string]string{"a": "0\n"})
		p.SyncSoon()
		p.edit(1, "a", "1\n")
		p.SyncSoon()
		synctest.Wait()
		if !p.onDisk() {
			t.Error("the step is not on the disk")
		}
	})
}
