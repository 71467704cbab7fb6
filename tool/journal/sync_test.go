package journal

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"
)

// onDisk reports whether all contents are on the disk.
func (p *project) onDisk() bool {
	p.files.objects.mu.Lock()
	defer p.files.objects.mu.Unlock()
	return len(p.files.objects.unsynced) == 0
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
	for name, file := range map[string]func(*files) *os.File{
		logName: func(f *files) *os.File { return f.log.file }, objectsName: func(f *files) *os.File { return f.objects.place.dir }} {
		p := newProject(t, map[string]string{"a": "0\n"})
		p.edit(1, "a", "1\n")
		p.ok(file(p.files).Close())
		if err := p.Sync(); !errors.Is(err, os.ErrClosed) && !errors.Is(err, unix.EBADF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// At the end of a turn nobody waits for the next moment.
func TestWhatIsToBeSyncedSoonDoesNotWaitForOtherSteps(t *testing.T) {
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
