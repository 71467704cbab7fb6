package names

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// Stamp says which file is at a path and in which state: two that are equal mean that
// nothing changed between them. Of a directory it says nothing about what is in it.
// The zero value is that of a path at which nothing is.
type Stamp struct {
	mode       fs.FileMode
	size       int64
	changed    int64 // ctime in nanoseconds since 1970; 0 for a directory
	dev, inode uint64
	owner      uint32
}

// coarse is what settled is where the times of files are whole seconds, or two.
const coarse = 3 * time.Second

// StampAt follows links. settled says that the file cannot change any more without
// another Stamp; it is always false where programs can set the time that tells.
func StampAt(path string) (stamp Stamp, isSettled bool) {
	now := time.Now()
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return Stamp{}, true
	}
	if err != nil {
		return Stamp{}, false
	}
	stamp.mode = info.Mode()
	var known bool
	if stamp.dev, stamp.inode, stamp.owner, known = identityOf(info); !known {
		return Stamp{}, false
	}
	if info.IsDir() {
		return stamp, true
	}
	changed, _ := stampOf(info)
	stamp.size, stamp.changed = info.Size(), changed.UnixNano()
	wait := settled
	if changed.Nanosecond() == 0 {
		wait = coarse
	}
	return stamp, now.Sub(changed) > wait
}

// Changed is when the file at a path changed last, its name and permissions among it:
// a time that no program can set. Links are followed.
func Changed(path string) (time.Time, error) {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}, err
	}
	return ChangedOf(info), nil
}

// ChangedOf is Changed of what is known of a file.
func ChangedOf(info fs.FileInfo) time.Time {
	changed, _ := stampOf(info)
	return changed
}
