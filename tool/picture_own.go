package tool

import (
	"context"
	"errors"
	"io"
	"path/filepath"
)

// errNoPicture says that a file outside the project is none that may be shown.
var errNoPicture = errors.New("outside the project only pictures are attached (--add-dir opens further directories)")

// OwnPicture shows the picture at a full path that the user named, wherever it
// is; what is on the deny list, leads elsewhere by a link or is no picture is an
// error. No tool of the model's may come to this.
func (f *Files) OwnPicture(ctx context.Context, path string) (Result, error) {
	beside, err := OpenFiles(FilesConfig{Root: filepath.Dir(path), DenyFiles: f.deny})
	if err != nil {
		return Result{}, err
	}
	defer beside.Close() // only read from
	result, err := runRead(ctx, &Env{Files: beside}, readInput{Path: path, Limit: 1}, io.Discard)
	if err == nil && len(result.Images) == 0 {
		err = errNoPicture
	}
	return result, err
}

// LeadsOut says whether no directory on the way to path, which is absolute, is
// one that the file tools may read: where one is, a link in it led out, and that
// may be a repository's.
func (f *Files) LeadsOut(path string) bool {
	if path != filepath.Clean(path) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		place, err := f.Resolve(dir, false)
		if err != nil || !place.Outside {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
