package files

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// newFileMode and newDirMode are the modes a shell would give new files, before the umask.
const (
	newFileMode = 0o644
	newDirMode  = 0o755
)

// ErrChanged is in the error of a write that found another file than expected.
var ErrChanged = errors.New("has changed in the meantime; read it again")

// WriteFileAtomic replaces or creates the file at the absolute path, in one
// step: at any moment there is the old content or the new, never a part. A link
// stays and its target is written, if that is inside. Permissions and, where
// the system lets us, owner and group are kept (set-user-ID bits are not, as
// after any write); a new file gets 0644 less the umask, missing directories
// are made. After a failure nothing is left behind. Files without a write
// permission are refused, as a shell would.
//
// A file that has other names (hard links) is the exception: it is written in
// place, so that it stays one file, and after a failure the old content is put back.
//
// With expect the write only happens if the file is still the same. It returns the file's new state.
func (f *Files) WriteFileAtomic(abs string, data []byte, expect *State) (State, error) {
	t, err := f.Resolve(abs, true)
	if err != nil {
		return State{}, err
	}
	if err := t.Refused(); err != nil {
		return State{}, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	old, err := t.Replaceable()
	if err != nil {
		return State{}, err
	}
	if err := t.mayWrite(old); err != nil {
		return State{}, err
	}
	made, err := t.makeParents()
	if err != nil {
		return State{}, err
	}
	_, unsaved := f.unsaved.LoadAndDelete(t.Abs)
	switch {
	case old != nil && unsaved:
		if err = t.unchanged(expect); err == nil {
			err = t.toEditor(data)
		}
	case old != nil && linkCount(old) > 1:
		err = t.rewrite(data, expect)
	default:
		err = t.Replace(old, data, expect)
	}
	if err != nil {
		_ = t.removeDirs(made) // only those that are still empty
		return State{}, err
	}
	info, err := t.grant.root.Lstat(t.rel)
	if err != nil {
		return State{}, t.Errorf(err, "")
	}
	return stateOf(info, data), nil
}

// Replaceable returns the file at the target, nil for none, and an error if it may not be replaced.
func (t Place) Replaceable() (fs.FileInfo, error) {
	info, err := t.grant.root.Lstat(t.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, t.Errorf(err, "")
	case info.IsDir():
		return nil, t.Errorf(nil, "is a directory")
	case Special(info.Mode()) != "":
		return nil, t.Errorf(nil, "is %s, not a file", Special(info.Mode()))
	case info.Mode().Perm()&0o222 == 0:
		return nil, t.Errorf(nil, "is read-only (mode %04o)", info.Mode().Perm())
	}
	return info, nil
}

// mayWrite asks for the permission to write to the old file, which a rename would not need.
func (t Place) mayWrite(old fs.FileInfo) error {
	if old == nil {
		return nil
	}
	file, err := t.grant.root.OpenFile(t.rel, os.O_WRONLY|openFlags, 0)
	if errors.Is(err, syscall.ETXTBSY) {
		return nil // a program that runs goes on with the old file
	}
	if err != nil {
		return t.Errorf(err, "")
	}
	return file.Close()
}

// makeParents makes the missing directories above the target and returns them, innermost first.
func (t Place) makeParents() (made []string, err error) {
	made = t.missingParents()
	if len(made) == 0 {
		return nil, nil
	}
	if err := t.grant.root.MkdirAll(made[0], newDirMode); err != nil {
		_ = t.removeDirs(made)
		return nil, t.Errorf(err, "cannot make the directory %s: ", filepath.ToSlash(made[0]))
	}
	return made, nil
}

// Replace writes data beside the target and renames it over it.
func (t Place) Replace(old fs.FileInfo, data []byte, expect *State) (err error) {
	root := t.grant.root
	temp := filepath.Join(filepath.Dir(t.rel), ".artoo-"+rand.Text()+".tmp")
	mode := fs.FileMode(newFileMode)
	if old != nil {
		mode = 0o600 // until it has the owner and mode of the old file
	}
	file, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return t.Errorf(err, "")
	}
	defer func() {
		if err != nil {
			file.Close() // a second time in some cases, which does no harm
			root.Remove(temp)
		}
	}()
	if _, err = file.Write(data); err != nil {
		return t.Errorf(err, "")
	}
	if old != nil {
		keepOwner(file, old)
		if err = file.Chmod(old.Mode().Perm()); err != nil {
			return t.Errorf(err, "cannot keep its mode: ")
		}
	}
	if err = synced(file); err != nil {
		return t.Errorf(err, "")
	}
	if err = file.Close(); err != nil {
		return t.Errorf(err, "")
	}
	if err = t.unchanged(expect); err != nil {
		return err
	}
	if err = root.Rename(temp, t.rel); err != nil {
		return t.Errorf(err, "")
	}
	if err := syncDir(root, filepath.Dir(t.rel)); err != nil {
		return t.Errorf(err, "was written, but may not survive a crash of the machine: ")
	}
	return nil
}

func (t Place) unchanged(expect *State) error {
	if expect == nil {
		return nil
	}
	now, err := t.State()
	if err != nil {
		return err
	}
	if !expect.Same(now) {
		return t.Errorf(ErrChanged, "")
	}
	return nil
}

// State is the file's state now, with its hash if it is not too large.
func (t Place) State() (State, error) {
	info, err := t.grant.root.Lstat(t.rel)
	if errors.Is(err, fs.ErrNotExist) {
		return State{Missing: true}, nil
	}
	if err != nil {
		return State{}, t.Errorf(err, "")
	}
	if info.Size() > MaxEdit || !info.Mode().IsRegular() {
		return State{ModTime: info.ModTime(), Size: info.Size()}, nil
	}
	data, info, err := t.ReadFile(MaxEdit)
	if err != nil {
		return State{}, err
	}
	data = t.AsEdited(data)
	return stateOf(info, data), nil
}

// rewrite writes data into the file itself, which other names lead to as well.
func (t Place) rewrite(data []byte, expect *State) error {
	file, err := t.grant.root.OpenFile(t.rel, os.O_RDWR|openFlags, 0)
	if err != nil {
		return t.Errorf(err, "")
	}
	defer file.Close()
	if err := t.unchanged(expect); err != nil {
		return err
	}
	before, err := io.ReadAll(io.LimitReader(file, MaxEdit+1))
	if err != nil {
		return t.Errorf(err, "")
	}
	if len(before) > MaxEdit {
		return t.Errorf(ErrTooLarge, "has other names, and ")
	}
	if err := overwrite(file, data); err != nil {
		if back := overwrite(file, before); back != nil {
			return t.Errorf(errors.Join(err, back), "may be broken: the old content could not be put back: ")
		}
		return t.Errorf(err, "")
	}
	return nil
}

func overwrite(file *os.File, data []byte) error {
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	if err := file.Truncate(int64(len(data))); err != nil {
		return err
	}
	return synced(file)
}

// synced syncs a file or directory where its file system can.
func synced(file *os.File) error {
	err := file.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// SetAside gives a file another name until remove is called, so that undo brings it back whole.
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

// Move renames a file, unless something has the new name by now.
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

// Create is WriteFileAtomic for a new file; undo also removes the directories made for it.
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

// missingParents are the missing directories above the place, innermost first.
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

// openFlags are added for reading: a named pipe without a writer must not block.
const openFlags = syscall.O_NONBLOCK

// keepOwner gives file the owner and group of old as far as the system lets us.
func keepOwner(file *os.File, old fs.FileInfo) {
	was, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return
	}
	if file.Chown(int(was.Uid), int(was.Gid)) != nil {
		_ = file.Chown(-1, int(was.Gid)) // the file is ours then, with the old group if we are in it
	}
}

// linkCount is how many names a file has.
func linkCount(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}

// syncDir makes a rename in the directory last.
func syncDir(root *os.Root, dir string) error {
	d, err := root.Open(dir)
	if err != nil {
		return nil // may be written to but not read; the rename itself was done
	}
	defer d.Close()
	return synced(d)
}
