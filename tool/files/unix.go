//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// openFlags are added when a file is opened for reading: a named pipe without a
// writer must not block, even if it took the place of a file a moment ago.
const openFlags = syscall.O_NONBLOCK

// keepOwner gives file the owner and group of old as far as the system lets us:
// only root may give files away, a group must be one of ours.
func keepOwner(file *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if file.Chown(int(was.Uid), int(was.Gid)) != nil {
		_ = file.Chown(-1, int(was.Gid)) // the file is ours then, with the old group if we are in it
	}
}

// linkCount is how many names a file has.
func linkCount(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}

// syncDir makes a rename in the directory last.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return nil // may be written to but not read; the rename itself was done
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
