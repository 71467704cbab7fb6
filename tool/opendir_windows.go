package tool

import (
	"io/fs"
	"os"
)

// openDir is an open directory, for searching many small files.
type openDir struct{ root *os.Root }

// openTop opens the directory t through its grant.
func openTop(t target) (openDir, error) {
	root, err := t.grant.root.OpenRoot(t.rel)
	return openDir{root}, err
}

// below opens the directory name.
func (d openDir) below(name string) (openDir, error) {
	root, err := d.root.OpenRoot(name)
	return openDir{root}, err
}

// entries opens the directory name for reading its entries.
func (d openDir) entries(name, _ string) (*os.File, error) { return d.root.Open(name) }

// file opens the file name.
func (d openDir) file(name string) (searchFile, error) {
	file, err := d.root.Open(name)
	if err != nil {
		return searchFile{}, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
	}
	return searchFile{file, info}, err
}

func (d openDir) close() { d.root.Close() }

// modified is when the entry e of a directory changed, in Unix nanoseconds.
func modified(_ *os.File, e fs.DirEntry) (int64, error) {
	info, err := e.Info()
	if err != nil {
		return 0, err
	}
	return info.ModTime().UnixNano(), nil
}

// searchFile is a file as it is searched.
type searchFile struct {
	*os.File
	info fs.FileInfo
}

func (f *searchFile) close() { f.File.Close() }

func (f *searchFile) regular() bool { return f.info.Mode().IsRegular() }

func (f *searchFile) size() int64 { return f.info.Size() }

// is says whether it is the file that info describes.
func (f *searchFile) is(info fs.FileInfo) bool { return os.SameFile(f.info, info) }
