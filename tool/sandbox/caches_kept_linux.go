//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/tempdir"
)

// entries counts the entries that the command has written on its layer outside caches.
func (p *Process) entries() (n int64) {
	for i := range p.line.Writable {
		upper := filepath.Join(p.room, upperName(i))
		_ = filepath.WalkDir(upper, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // it is gone, or closed
			}
			if path != upper && p.sandbox.isCache(path[len(upper)+1:]) {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
			n++
			return nil
		})
	}
	return n
}

// keepCaches keeps the files that the command left in the caches of the user and the project.
func (p *Process) keepCaches() error {
	if p.room == "" {
		return errors.New("sandbox: the layer was discarded")
	}
	if err := p.sandbox.keepUsers(p.room); err != nil || p.sandbox.kept == "" || p.sandbox.config.IsCache == nil {
		return err
	}
	p.sandbox.merging.Lock()
	defer p.sandbox.merging.Unlock()
	m := merger{since: p.begun}
	for i, root := range p.line.Writable {
		upper, kept := filepath.Join(p.room, upperName(i)), filepath.Join(p.sandbox.kept, keptName(root))
		if err := p.sandbox.keepBelow(m, upper, kept, ""); err != nil {
			return err
		}
	}
	return nil
}

// keepBelow merges the caches below a directory of a layer. An entry whose path is too long for a system call is not kept.
func (s *Sandbox) keepBelow(m merger, upper, kept, rel string) error {
	list, err := os.ReadDir(filepath.Join(upper, rel))
	if err != nil {
		return err
	}
	for _, entry := range list {
		below := filepath.Join(rel, entry.Name())
		switch {
		case s.isCache(below):
			if err = os.MkdirAll(filepath.Join(kept, rel), 0o700); err == nil {
				err = m.merge(filepath.Join(upper, below), filepath.Join(kept, below))
			}
		case entry.IsDir():
			err = s.keepBelow(m, upper, kept, below)
		}
		if err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			return err
		}
	}
	return nil
}

// keepUsers merges files that a command wrote in the user's caches into artoo's own.
func (s *Sandbox) keepUsers(room string) error {
	s.merging.Lock()
	defer s.merging.Unlock()
	for i, own := range s.caches {
		from := filepath.Join(room, "cache"+strconv.Itoa(i))
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := (merger{}).below(from, filepath.Join(own, "upper")); err != nil {
			return err
		}
	}
	return nil
}

// merger moves written files of caches to where they are kept. Both are sides of an
// overlay: names that are gone and directories that cover others are kept as such.
type merger struct{ since time.Time } // a name that went is gone, unless it was kept after that

// merge moves an entry.
func (m merger) merge(from, to string) error {
	var st, old unix.Stat_t
	if err := unix.Lstat(from, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: from, Err: err}
	}
	err := unix.Lstat(to, &old)
	there := err == nil
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return &fs.PathError{Op: "stat", Path: to, Err: err}
	}
	isDir := func(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		if st.Mode&0o700 != 0o700 {
			if err := os.Chmod(from, 0o700); err != nil {
				return err
			}
		}
		if there && isDir(old) && !isOpaque(from) {
			return m.below(from, to)
		}
		if there && !isDir(old) { // It hid the lower directory, and the overlay need not have marked that.
			if err := unix.Setxattr(from, opaqueName, []byte{'y'}, 0); err != nil {
				return &fs.PathError{Op: "setxattr", Path: from, Err: err}
			}
		}
	case unix.S_IFREG, unix.S_IFLNK:
		if there && !isDir(old) && old.Mode&unix.S_IFMT != unix.S_IFCHR && newer(old.Mtim, st.Mtim) {
			return nil
		}
	case unix.S_IFCHR:
		if there && !m.since.IsZero() && newer(old.Ctim, unix.NsecToTimespec(m.since.UnixNano())) {
			return nil
		}
	default:
		return nil // a FIFO, a socket
	}
	if st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev != 0 {
		return nil
	}
	if there && (isDir(old) || isDir(st)) {
		if err := tempdir.RemoveAll(to); err != nil {
			return err
		}
	}
	err = os.Rename(from, to)
	if errors.Is(err, unix.EXDEV) {
		return copyEntry(from, to, st)
	}
	return err
}

// below moves the entries of a directory, except those whose paths are too long for a system call.
func (m merger) below(from, to string) error {
	list, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range list {
		err := m.merge(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()))
		if err != nil && !errors.Is(err, unix.ENAMETOOLONG) {
			return err
		}
	}
	return nil
}

func newer(a, b unix.Timespec) bool { return a.Sec > b.Sec || a.Sec == b.Sec && a.Nsec > b.Nsec }

// opaqueName is the attribute of a directory that covers the one below.
const opaqueName = "user.overlay.opaque"

// isOpaque reports whether a directory of the written side covers the one below.
func isOpaque(path string) bool {
	value := make([]byte, 8)
	n, err := unix.Getxattr(path, opaqueName, value)
	return err == nil && n == 1 && value[0] == 'y'
}

// copyEntry copies an entry to another file system, with its mode and times.
func copyEntry(from, to string, st unix.Stat_t) error {
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFREG {
		return copyContent(from, to, st)
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	switch kind {
	case unix.S_IFLNK:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case unix.S_IFCHR:
		return unix.Mknod(to, unix.S_IFCHR, 0)
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if isOpaque(from) {
		if err := unix.Setxattr(to, opaqueName, []byte{'y'}, 0); err != nil {
			return &fs.PathError{Op: "setxattr", Path: to, Err: err}
		}
	}
	if err := (merger{}).below(from, to); err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, time.Unix(st.Mtim.Unix()))
}

// copyContent copies a file beside the other one, and puts it in its place.
func copyContent(from, to string, st unix.Stat_t) error {
	if st.Mode&0o400 == 0 {
		if err := os.Chmod(from, 0o600); err != nil {
			return err
		}
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(to), ".artoo-")
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(fs.FileMode(st.Mode&0o777)), out.Close())
	if err == nil {
		err = os.Chtimes(out.Name(), time.Time{}, time.Unix(st.Mtim.Unix()))
	}
	if err == nil {
		err = os.Rename(out.Name(), to)
	}
	if err != nil {
		return errors.Join(err, os.Remove(out.Name()))
	}
	return nil
}
