package tool

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

// errTooLarge is in the error of readFile for a file over the limit.
var errTooLarge = errors.New("the file is too large")

// Open opens the file or directory at the absolute path for reading, never
// through a link that leads out of the granted directories, and never what is
// neither a file nor a directory. The error for a place that is Outside or
// Denied is a *RefusedError. The caller closes the file.
func (f *Files) Open(abs string) (*os.File, error) {
	t, err := f.resolve(abs, false)
	if err != nil {
		return nil, err
	}
	file, _, err := t.open()
	return file, err
}

// open opens the target. The place was judged a moment ago; if the name has
// come to lead to another file by now, that one is not handed out.
func (t target) open() (*os.File, fs.FileInfo, error) {
	if err := t.refused(); err != nil {
		return nil, nil, err
	}
	for range 3 { // an atomic replacement by another program is no attack
		named, err := os.Lstat(t.Abs)
		if err != nil {
			return nil, nil, t.errorf(err, "")
		}
		if kind := special(named.Mode()); kind != "" {
			return nil, nil, t.errorf(nil, "is %s, not a file", kind)
		}
		file, info, err := t.openSame(named)
		if !errors.Is(err, errReplaced) {
			return file, info, err
		}
	}
	return nil, nil, t.errorf(errReplaced, "")
}

var errReplaced = errors.New("was replaced while it was opened; try again")

// openSame opens the target if it is the file that was named.
func (t target) openSame(named fs.FileInfo) (*os.File, fs.FileInfo, error) {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, t.errorf(err, "")
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(info, named) {
		err = errReplaced
	}
	if err != nil {
		file.Close()
		return nil, nil, t.errorf(err, "")
	}
	return file, info, nil
}

// special names what is neither a regular file nor a directory.
func special(mode fs.FileMode) string {
	switch {
	case mode.IsRegular(), mode.IsDir():
		return ""
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link that came just now"
	}
	return "a special file"
}

// readFile returns the content of a regular file of at most limit bytes; the
// error for a larger one wraps errTooLarge.
func (t target) readFile(limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := t.open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.IsDir() {
		return nil, nil, t.errorf(nil, "is a directory; ls lists it")
	}
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s: %w: %s, the limit is %s", t.Display, errTooLarge, byteSize(info.Size()),
			byteSize(limit))
	}
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, nil, t.errorf(err, "")
	}
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s: %w: it grew over the limit of %s", t.Display, errTooLarge, byteSize(limit))
	}
	return data, info, nil
}

// Stat describes what is at the absolute path, links followed.
func (f *Files) Stat(abs string) (fs.FileInfo, error) {
	t, err := f.resolve(abs, false)
	if err != nil {
		return nil, err
	}
	return t.stat()
}

func (t target) stat() (fs.FileInfo, error) {
	if err := t.refused(); err != nil {
		return nil, err
	}
	info, err := t.grant.root.Lstat(t.rel)
	if err != nil {
		return nil, t.errorf(err, "")
	}
	return info, nil
}

// readDir returns the entries of a directory by name, and whether there were more
// than limit: which ones are then left out depends on the file system.
func (t target) readDir(limit int) (entries []fs.DirEntry, more bool, err error) {
	dir, info, err := t.open()
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	if !info.IsDir() {
		return nil, false, t.errorf(nil, "is not a directory")
	}
	entries, err = dir.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, t.errorf(err, "")
	}
	if len(entries) > limit {
		entries, more = entries[:limit], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// byteSize writes a number of bytes for people and models.
func byteSize(n int64) string {
	const kib = 1 << 10
	switch {
	case n < kib:
		return fmt.Sprintf("%d bytes", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MB", float64(n)/(kib*kib))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(kib*kib*kib))
}
