package files

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
)

// SetAside gives a file another name until remove is called: its inode, mode and times
// are then what undo puts back.
func (f *Files) SetAside(p Place, expect State) (undo, remove func() error, err error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := p.unchanged(&expect); err != nil {
		return nil, nil, err
	}
	root, aside := p.grant.root, filepath.Join(filepath.Dir(p.rel), ".artoo-"+rand.Text()+".tmp")
	if err := root.Rename(p.rel, aside); err != nil {
		return nil, nil, p.Errorf(err, "")
	}
	return func() error { return root.Rename(aside, p.rel) }, func() error { return root.Remove(aside) }, nil
}

// Move renames a file, which keeps all that it is, unless something has the new name by
// now.
func (f *Files) Move(from, to Place, expect State) (undo func() error, err error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	if err := from.unchanged(&expect); err != nil {
		return nil, err
	}
	root := to.grant.root
	if _, err := root.Lstat(to.rel); !errors.Is(err, fs.ErrNotExist) {
		return nil, to.Errorf(ErrChanged, "")
	}
	made, err := to.makeParents()
	if err != nil {
		return nil, err
	}
	if err := root.Rename(from.rel, to.rel); err != nil {
		return nil, errors.Join(to.Errorf(err, ""), to.removeDirs(made))
	}
	return func() error { return errors.Join(root.Rename(to.rel, from.rel), to.removeDirs(made)) }, nil
}

// Create is WriteFileAtomic for a file that is not there; undo removes it with the
// directories that were made for it.
func (f *Files) Create(p Place, data []byte) (now State, undo func() error, err error) {
	made := p.missingParents()
	now, err = f.WriteFileAtomic(p.Abs, data, &State{Missing: true})
	return now, func() error {
		if err := p.grant.root.Remove(p.rel); err != nil {
			return p.Errorf(err, "")
		}
		return p.removeDirs(made)
	}, err
}

// missingParents are the directories above the place that are not there, the innermost
// first.
func (p Place) missingParents() (missing []string) {
	for dir := filepath.Dir(p.rel); dir != "."; dir = filepath.Dir(dir) {
		if _, err := p.grant.root.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, dir)
	}
	return missing
}

// removeDirs removes directories that are empty, the innermost first.
func (p Place) removeDirs(dirs []string) (err error) {
	for _, dir := range dirs {
		if failed := p.grant.root.Remove(dir); failed != nil {
			err = errors.Join(err, p.Errorf(failed, "its directory %s: ", filepath.ToSlash(dir)))
		}
	}
	return err
}

// SameGrant reports whether both places are in the same directory that the user opened.
func (p Place) SameGrant(other Place) bool { return p.grant == other.grant }

// Readlink is where the link of this name in the directory leads.
func (p Place) Readlink(name string) (string, error) {
	return p.grant.root.Readlink(filepath.Join(p.rel, name))
}
