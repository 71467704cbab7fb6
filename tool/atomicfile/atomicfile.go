// Package atomicfile replaces artoo's own files, such as settings, whole: a reader, or
// a reader after a crash, finds the old content or the new. Files of a project are
// written by package tool, which watches its borders too.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Write gives the file at path this content and mode, and makes it and its directory
// (for the user alone) where they are missing. A symbolic link is kept and the file that
// it leads to replaced: dotfiles often are links. The content is on the disk before it
// has the name. After an error the file is as it was, and nothing is left beside it.
func Write(path string, data []byte, mode fs.FileMode) (err error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, Temporary(path)) // 0600 until all is in it
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Temporary is the pattern, for filepath.Match, of the names that Write gives to files
// to become the file at path. One is left where Write was killed.
func Temporary(path string) string {
	name, ext := filepath.Base(path), filepath.Ext(path)
	return "." + strings.TrimSuffix(name, ext) + "-*" + ext
}
