package conversation

import (
	"errors"
	"os"
	"runtime"

	"github.com/gofrs/flock"
)

// lockExt is added to a session file's name. The lock is a file of its own
// because on Windows a locked file cannot be read by others.
const lockExt = ".lock"

// errInUse says that another process, or another Session of this one, writes
// the file.
var errInUse = errors.New("in use by another artoo")

type fileLock struct {
	path string
	lock *flock.Flock
}

// lockFile takes the advisory lock of the session file at path, or returns
// errInUse. The kernel frees it when the process dies.
func lockFile(path string) (*fileLock, error) {
	path += lockExt
	for {
		lock := flock.New(path)
		got, err := lock.TryLock()
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
}

// release frees the lock and removes its file. On Windows an open file cannot
// be removed, and a file that another process opened meanwhile stays.
func (l *fileLock) release() error {
	if runtime.GOOS == "windows" {
		err := l.lock.Unlock()
		_ = os.Remove(l.path) // in use again, or gone: both are fine
		return err
	}
	return errors.Join(notMissing(os.Remove(l.path)), l.lock.Unlock())
}

func notMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}
