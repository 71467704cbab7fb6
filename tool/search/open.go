package search

import (
	"errors"
	"io/fs"
	"os"

	"artoo/tool/files"
)

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. It looks before it opens,
// because opening a FIFO would wait for a writer.
func openRegular(files *files.Files, abs string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(abs)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := files.Open(abs)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
