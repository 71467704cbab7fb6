// Package tempdir makes the directories of a session. The kernel's lock on one ends with
// its process, so that files of a killed artoo differ from those in use.
package tempdir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// prefix begins the name of each.
const prefix = "artoo-session-"

// Pattern matches the names of all, for filepath.Match.
const Pattern = prefix + "*"

// Dir is a directory of this process, for its user alone.
type Dir struct {
	Path string   // absolute
	lock *os.File // nil where the file system has no locks: files left there stay
}

// Make makes a directory in another; "" is the system's place for temporary files.
func Make(parent string) (*Dir, error) {
	for {
		path, err := os.MkdirTemp(parent, prefix)
		if err != nil {
			return nil, err
		}
		lock, err := lockDir(path)
		if !errors.Is(err, errTaken) {
			return &Dir{path, lock}, nil
		}
		// Another artoo took it for one that was left, before it had its lock.
	}
}

// Remove removes the directory with all that it holds.
func (d *Dir) Remove() error {
	err := RemoveAll(d.Path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// Sweep removes the directories in parent that are this user's and whose process was
// killed. Other files, and those in use, it leaves alone.
func Sweep(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		lock, err := lockDir(path)
		if err != nil {
			continue // it is in use, gone or another user's
		}
		errs = append(errs, RemoveAll(path), lock.Close())
	}
	return errors.Join(errs...)
}

// errTaken says that another process has the directory, or has removed it.
var errTaken = errors.New("taken by another process")

// lockDir locks a directory of this user, no link, until its process ends. It does not
// wait.
func lockDir(path string) (lock *os.File, err error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errTaken
	}
	if err != nil {
		return nil, err
	}
	dir := os.NewFile(uintptr(fd), path)
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	var held, now unix.Stat_t
	if err := unix.Fstat(fd, &held); err != nil {
		return nil, err
	}
	if int(held.Uid) != os.Geteuid() {
		return nil, errTaken
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errTaken
	} else if err != nil {
		return nil, err
	}
	// The previous holder of the lock may have removed the directory of the path.
	if unix.Lstat(path, &now) != nil || now.Ino != held.Ino || now.Dev != held.Dev {
		return nil, errTaken
	}
	return dir, nil
}

// RemoveAll removes a directory, also where directories in it are closed to their owner. The
// kernel leaves the work directory of a layer without any permission, which keeps all but
// root from looking into it.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return err
	}
	err = errors.Join(reopen(root, filepath.Base(dir)), root.Close())
	if left := os.RemoveAll(dir); left != nil {
		return errors.Join(err, left)
	}
	return nil
}

// reopen opens a directory, and those in it, to their owner. It names each by its parent: a path may be longer than
// a system call takes.
func reopen(parent *os.Root, name string) error {
	if err := parent.Chmod(name, 0o700); err != nil {
		return err
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(dir.FS(), ".")
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, reopen(dir, entry.Name()))
		}
	}
	return errors.Join(err, dir.Close())
}
