//go:build unix

package search

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"artoo/tool/files"
)

// openDir is an open directory, for searching many small files: an os.File costs three
// more calls of the system, and an os.Root looks at each entry when one is listed,
// which comes to a third of a search. Links are not followed.
type openDir int

const openDirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// openTop opens the directory t through its grant.
func openTop(t files.Place) (openDir, error) {
	dir, _, err := t.Open()
	if err != nil {
		return -1, err
	}
	defer dir.Close()
	fd, err := unix.FcntlInt(dir.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	return openDir(fd), err
}

func (d openDir) openat(name string, flags int) (int, error) {
	for {
		if fd, err := unix.Openat(int(d), name, flags, 0); err != unix.EINTR {
			return fd, err
		}
	}
}

// below opens the directory name.
func (d openDir) below(name string) (openDir, error) {
	fd, err := d.openat(name, openDirFlags)
	return openDir(fd), err
}

// entries opens the directory name for reading its entries; abs is its path.
func (d openDir) entries(name, abs string) (*os.File, error) {
	fd, err := d.openat(name, openDirFlags)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), abs), nil
}

// file opens the file name, without waiting for the writer of a pipe.
func (d openDir) file(name string) (searchFile, error) {
	fd, err := d.openat(name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC)
	f := searchFile{fd: fd}
	if err == nil {
		err = syscall.Fstat(fd, &f.stat)
		if err != nil {
			f.close()
		}
	}
	return f, err
}

func (d openDir) close() { _ = unix.Close(int(d)) }

// Modified is when the entry e of dir changed, in Unix nanoseconds.
func Modified(dir *os.File, e fs.DirEntry) (int64, error) {
	var stat unix.Stat_t
	err := unix.Fstatat(int(dir.Fd()), e.Name(), &stat, unix.AT_SYMLINK_NOFOLLOW)
	return stat.Mtim.Nano(), err
}

// searchFile is a file as it is searched.
type searchFile struct {
	fd   int
	stat syscall.Stat_t
}

// Read implements io.Reader.
func (f *searchFile) Read(p []byte) (int, error) {
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

func (f *searchFile) close() { _ = unix.Close(f.fd) }

func (f *searchFile) regular() bool { return f.stat.Mode&syscall.S_IFMT == syscall.S_IFREG }

func (f *searchFile) size() int64 { return f.stat.Size }

// is says whether it is the file that info describes.
func (f *searchFile) is(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Dev == f.stat.Dev && stat.Ino == f.stat.Ino
}

var errNotRegular = errors.New("not a regular file")

// dirChain keeps the directories open that lead to the last one that was asked for:
// the next one is most often beside it or just below, and takes one call of the
// system to open, where the whole way took two for each part of it. No link is
// followed on the way. One is used by one goroutine; close it at the end.
type dirChain struct {
	at   files.Place // where names begin
	path []string
	open []openDir
}

// dir is the directory rel, "" for where the chain begins, open until the next call.
func (c *dirChain) dir(rel string) (openDir, error) {
	if len(c.open) == 0 {
		top, err := openTop(c.at)
		if err != nil {
			return top, err
		}
		c.path, c.open = append(c.path, ""), append(c.open, top)
	}
	want := files.Split(rel)
	same := 1
	for same <= len(want) && same < len(c.path) && want[same-1] == c.path[same] {
		same++
	}
	c.leave(same)
	for _, name := range want[same-1:] {
		below, err := c.open[len(c.open)-1].below(name)
		if err != nil {
			return below, err
		}
		c.path, c.open = append(c.path, name), append(c.open, below)
	}
	return c.open[len(c.open)-1], nil
}

// leave closes all but the first n directories.
func (c *dirChain) leave(n int) {
	for _, dir := range c.open[n:] {
		dir.close()
	}
	c.path, c.open = c.path[:n], c.open[:n]
}

func (c *dirChain) close() { c.leave(0) }

// entries opens a directory to list it; rel as for dir. The caller closes it.
func (c *dirChain) entries(rel string) (*os.File, error) {
	abs := filepath.Join(c.at.Abs, rel)
	if rel == "" {
		top, err := c.dir("")
		if err != nil {
			return nil, err
		}
		return top.entries(".", abs)
	}
	parent, err := c.dir(filepath.Dir(rel))
	if err != nil {
		return nil, err
	}
	return parent.entries(filepath.Base(rel), abs)
}
