package files

import "path/filepath"

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

// Beside opens another directory, of which the same files of artoo's own are denied.
func (f *Files) Beside(dir string) (*Files, error) {
	return Open(Config{Root: dir, DenyFiles: f.deny})
}
