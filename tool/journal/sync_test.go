package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// Of a file nothing goes to the disk unless something was written to it, by this
// process or by one before it.
func TestOnlyWhatWasWrittenGoesToTheDisk(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	closed, err := os.Open(file.Name())
	if err != nil || closed.Close() != nil {
		t.Fatal(err)
	}
	var w written
	for i, change := range []bool{true, false, true, false} {
		if change && i > 0 {
			w.add()
		}
		if err := w.sync(closed); (err != nil) != change {
			t.Errorf("%d: what is to be synced and cannot be: %v", i, err)
		}
		if err := w.sync(file); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	var empty written
	empty.none()
	if err := empty.sync(closed); err != nil || empty.some() {
		t.Errorf("nothing was written yet, and that is to be synced: %v", err)
	}
	if empty.add(); !empty.some() {
		t.Error("what is written then is not to be synced")
	}
}

// Steps that follow each other go to the disk together, each within a second.
func TestStepsOfAMomentGoToTheDiskTogether(t *testing.T) {
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
			if age := time.Since(first); !p.files.objects.written.some() {
				first = time.Time{}
				syncs++
			} else if age >= syncAtMost {
				t.Errorf("a step waits for the disk for %v", age)
			}
		}
		if syncs < 3 || syncs > 5 {
			t.Errorf("in three seconds steps were synced %d times", syncs)
		}
		<-time.After(syncAfter)
		synctest.Wait()
		if p.files.objects.written.some() {
			t.Error("the last steps are not on the disk")
		}
	})
}

// Each file that a step is written to goes to the disk, and one that cannot is an error.
func TestAFileThatDoesNotReachTheDiskIsAnError(t *testing.T) {
	for name, file := range map[string]func(*files) *os.File{
		logName: func(f *files) *os.File { return f.log.file }, objectsName: func(f *files) *os.File { return f.objects.file }} {
		p := newProject(t, map[string]string{"a": "0\n"})
		p.edit(1, "a", "1\n")
		p.ok(file(p.files).Close())
		if err := p.Sync(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At the end of a turn nobody waits for the next moment.
func TestWhatIsToBeSyncedSoonDoesNotWaitForOtherSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, map[string]string{"a": "0\n"})
		p.SyncSoon() // of nothing
		p.edit(1, "a", "1\n")
		p.SyncSoon()
		synctest.Wait()
		if p.files.objects.written.some() {
			t.Error("the step is not on the disk")
		}
	})
}

// Steps that follow each other share the signs of life; an open one is never without
// a young one, not even where the clock of the process stood still.
func TestStepsOfAMomentShareASignOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProject(t, map[string]string{"a": "0\n"})
		alive := filepath.Join(p.cfg.Dir, aliveName)
		old := time.Unix(1e9, 0)
		left := func(f func()) bool { // whether a sign is left meanwhile
			p.ok(os.Chtimes(alive, old, old))
			f()
			info, err := os.Stat(alive)
			p.ok(err)
			return !info.ModTime().Equal(old)
		}
		edit := func() { p.edit(1, "a", fmt.Sprint(time.Now().UnixNano())) }
		begin := func() *Step {
			s := p.Begin(1, "edit a")
			_, err := s.Before("a")
			p.ok(err)
			return s
		}
		pause := func() { <-time.After(beat + 1); synctest.Wait() }

		edit()
		if left(edit) {
			t.Error("a step right after another one left a sign of its own")
		}
		s := begin()
		for range 2 {
			if !left(pause) {
				t.Error("an open step left no sign")
			}
		}
		_, err := s.End()
		p.ok(err)
		pause()
		if left(pause) {
			t.Error("a sign was left while nothing is open")
		}
		if !left(edit) {
			t.Error("a step left no sign after a while without one")
		}
		p.mu.Lock()
		p.sign = p.sign.Add(-time.Hour) // as after an hour of sleep
		p.mu.Unlock()
		if !left(edit) {
			t.Error("a step left no sign, though the last one is an hour old")
		}
	})
}
