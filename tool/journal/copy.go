package journal

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Copy makes to a copy of the journal in from, for a session that is a copy of
// another: what happened before can be taken back in both. It does nothing where
// there is nothing to copy, or where to is there already, and returns [ErrInUse]
// while an artoo writes to from.
func Copy(from, to string) error {
	if _, err := os.Lstat(filepath.Join(from, logName)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(to); err == nil {
		return nil
	}
	if used, err := inUse(from); err != nil || used {
		return errors.Join(err, ErrInUse)
	}
	// A copy that is cut off has another name, under which nobody looks for it.
	part, err := os.MkdirTemp(filepath.Dir(to), ".copy-*")
	if err != nil {
		return err
	}
	for _, name := range []string{objectsName, treeName, aliveName, logName} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(part, name)); err != nil {
			return errors.Join(err, os.RemoveAll(part))
		}
	}
	if err := keepQuarantine(from, part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, to); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
}

// keepQuarantine keeps in the copy of a journal, as contents, the files that lie in its
// quarantine: they stay there. Directories and what may be brought back by a rename
// alone are not in the copy.
func keepQuarantine(from, to string) (err error) {
	q, _, err := quarantineOf(from)
	if err != nil || q == nil {
		return err
	}
	defer func() { err = errors.Join(err, q.close()) }()
	file, err := os.OpenFile(filepath.Join(to, objectsName), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	o, err := openObjects(file, defaultMaxSession, func(string) error { return nil })
	if err != nil {
		return err
	}
	for _, h := range q.held {
		if err := keepHeld(o, q, h); err != nil && !errors.Is(err, errNoSpace) {
			return err
		}
	}
	return nil
}

func keepHeld(o *objects, q *quarantine, h held) error {
	st, err := statAt(int(q.dir.Fd()), h.slot)
	if err != nil || st.kind() != File || st.size > o.limit {
		return err
	}
	f, err := q.open(h.slot)
	if err != nil {
		return err
	}
	defer f.Close()
	_, _, _, err = o.copyFrom(f, false)
	return err
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
