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
	if err := os.Rename(part, to); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
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
