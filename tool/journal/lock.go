package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// Landings in one project follow each other, whichever process or session they are of:
// lockWait is how long one waits for the others, and lockEach how often it looks whether
// they are over.
const (
	lockWait = 30 * time.Second
	lockEach = 3 * time.Millisecond
)

// ErrBusy says that another landing in the project did not end.
var ErrBusy = errors.New("another landing in this project has not ended")

// order waits until no other landing, undo, redo or recovery changes the project, and
// keeps others waiting until done is called, or until the kernel has ended the process.
// The lock goes by the project's device and inode, since a path may be another one's.
func (j *Journal) order(ctx context.Context) (done func(), err error) {
	dir := j.cfg.Locks
	if dir == "" {
		dir = j.cfg.Dir
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("landing-%x-%x.lock", j.root.dev, j.root.inode)
	lock := flock.New(filepath.Join(dir, name), flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, j.wait)
	defer cancel()
	_, err = lock.TryLockContext(waiting, lockEach)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w: waited %v for %s", ErrBusy, j.wait, j.cfg.Root)
	}
	// The kernel releases the lock with the descriptor, whatever else goes wrong there.
	return func() { _ = lock.Close() }, ignoreUnsupported(err)
}
