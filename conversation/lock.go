package conversation

import (
	"errors"
	"os"
	"syscall"

	"github.com/gofrs/flock"
)

// lockExt is added to a session file's name. The lock is a file of its own.
const lockExt = ".lock"

// errInUse says that another process, or another Session of this one, writes
// the file. errNoLocks says that the file system knows no locks, so that nobody
// can tell.
var (
	errInUse   = errors.New("in use by another artoo")
	errNoLocks = errors.New("on a file system without locks")
)

// lockTries bounds the race with one who removes the lock. A file system whose
// files have no lasting identity would lose it for ever.
const lockTries = 100

type fileLock struct {
	path string
	lock *flock.Flock
}

// lockFile takes the advisory lock of the session file at path, or returns
// errInUse or errNoLocks. The kernel frees it when the process dies.
func lockFile(path string) (*fileLock, error) {
	path += lockExt
	for range lockTries {
		lock := flock.New(path)
		got, err := lock.TryLock()
		if noLocks(err) {
			return nil, errors.Join(errNoLocks, notMissing(os.Remove(path)))
		}
		if err != nil {
			return nil, err
		}
		if !got {
			return nil, errInUse
		}
		// Between opening and locking, the one who held it may have removed it:
		// then this lock is on a file that no one else will see.
		held, err := lock.Stat()
		if err == nil {
			var now os.FileInfo
			if now, err = os.Stat(path); err == nil && os.SameFile(held, now) {
				return &fileLock{path, lock}, nil
			}
		}
		if err := errors.Join(notMissing(err), lock.Unlock()); err != nil {
			return nil, err
		}
	}
	return nil, errNoLocks
}

// noLocks reports whether err is what some network and FUSE file systems answer
// to flock(2).
func noLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

// release removes the lock's file and frees the lock.
func (l *fileLock) release() error {
	if l == nil {
		return nil
	}
	return errors.Join(notMissing(os.Remove(l.path)), l.lock.Unlock())
}

func notMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
