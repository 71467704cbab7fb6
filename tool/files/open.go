package files

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"artoo/tool/text"
)

// ErrTooLarge is in the error of readFile for a file over the limit.
var ErrTooLarge = errors.New("the file is too large")

// Open opens the file or directory at the absolute path for reading, never through a link that leads out of the granted
// directories, and never a thing that is neither a file nor a directory. The error for a place that is Outside or
// Denied is a *RefusedError. The caller closes the file.
func (f *Files) Open(abs string) (*os.File, error) {
	t, err := f.Resolve(abs, false)
	if err != nil {
		return nil, err
	}
	file, _, err := t.Open()
	return file, err
}

// Open opens the target, unless the name has come to lead to another file by now.
func (t Place) Open() (*os.File, fs.FileInfo, error) {
	if err := t.Refused(); err != nil {
		return nil, nil, err
	}
	for range 3 { // an atomic replacement by another program is no attack
		named, err := os.Lstat(t.Abs)
		if err != nil {
			return nil, nil, t.Errorf(err, "")
		}
		if kind := Special(named.Mode()); kind != "" {
			return nil, nil, t.Errorf(nil, "is %s, not a file", kind)
		}
		file, info, err := t.OpenSame(named)
		if !errors.Is(err, ErrReplaced) {
			return file, info, err
		}
	}
	return nil, nil, t.Errorf(ErrReplaced, "")
}

var ErrReplaced = errors.New("was replaced while it was opened; try again")

// OpenSame opens the target if it is the file that was named.
func (t Place) OpenSame(named fs.FileInfo) (*os.File, fs.FileInfo, error) {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, nil, t.Errorf(err, "")
	}
	info, err := file.Stat()
	if err == nil && !os.SameFile(info, named) {
		err = ErrReplaced
	}
	if err != nil {
		file.Close()
		return nil, nil, t.Errorf(err, "")
	}
	return file, info, nil
}

// Special names the type of a file that is neither regular nor a directory.
func Special(mode fs.FileMode) string {
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
		return "a symbolic link that has just appeared"
	}
	return "a special file"
}

// ReadFile returns the content of a regular file; the error for one over the limit wraps ErrTooLarge.
func (t Place) ReadFile(limit int64) ([]byte, fs.FileInfo, error) {
	file, info, err := t.Open()
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	if info.IsDir() {
		return nil, nil, t.Errorf(nil, "is a directory; ls lists it")
	}
	if info.Size() > limit {
		return nil, nil, fmt.Errorf("%s: %w: %s, the limit is %s", t.Display, ErrTooLarge, text.Bytes(info.Size()),
			text.Bytes(limit))
	}
	content := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := content.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, nil, t.Errorf(err, "")
	}
	data := content.Bytes()
	if int64(len(data)) > limit {
		return nil, nil, fmt.Errorf("%s: %w: it grew over the limit of %s", t.Display, ErrTooLarge, text.Bytes(limit))
	}
	return data, info, nil
}

// Stat describes the file at the absolute path, links followed.
func (f *Files) Stat(abs string) (fs.FileInfo, error) {
	t, err := f.Resolve(abs, false)
	if err != nil {
		return nil, err
	}
	return t.Stat()
}

func (t Place) Stat() (fs.FileInfo, error) {
	if err := t.Refused(); err != nil {
		return nil, err
	}
	info, err := t.grant.root.Lstat(t.rel)
	if err != nil {
		return nil, t.Errorf(err, "")
	}
	return info, nil
}

// ReadDir returns the entries of a directory by name, and whether there were more than limit.
func (t Place) ReadDir(limit int) (entries []fs.DirEntry, more bool, err error) {
	dir, info, err := t.Open()
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	if !info.IsDir() {
		return nil, false, t.Errorf(nil, "is not a directory")
	}
	entries, err = dir.ReadDir(limit + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, t.Errorf(err, "")
	}
	if len(entries) > limit {
		entries, more = entries[:limit], true
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, more, nil
}

// HasOtherNames reports whether the file at the place has other names (hard links).
func (p Place) HasOtherNames() bool {
	info, err := os.Lstat(p.Abs)
	return err == nil && info.Mode().IsRegular() && linkCount(info) > 1
}

// Child is how a file below the place is shown: as a path that other tools take.
func (p Place) Child(name string) string {
	if p.Display == "" || p.Display == "." {
		return name
	}
	return path.Join(filepath.ToSlash(p.Display), name)
}
