package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
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
	if err := copyContents(from, part); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	if err := os.Rename(part, to); err != nil {
		return errors.Join(err, os.RemoveAll(part))
	}
	return nil
}

// copyContents copies the log and the contents of a journal. Files in its quarantine are
// contents of the copy: they stay there. Directories and what may be brought back by a
// rename alone are not in the copy.
func copyContents(from, to string) error {
	text, err := os.ReadFile(filepath.Join(from, logName))
	if err := errors.Join(err, os.WriteFile(filepath.Join(to, logName), text, 0o600)); err != nil {
		return err
	}
	noPoint := func(string) error { return nil }
	kept, err := openStore(filepath.Join(from, objectsName), defaultMaxSession, noPoint)
	if err != nil {
		return err
	}
	defer kept.close()
	s, err := openStore(filepath.Join(to, objectsName), defaultMaxSession, noPoint)
	if err != nil {
		return err
	}
	defer s.close()
	for hash, size := range kept.sizes { // A content is never changed, so both journals can name one file.
		if os.Link(kept.path(hash), s.path(hash)) == nil {
			s.sizes[hash] = size
			s.used += size
			continue
		}
		data, err := kept.read(hash)
		if err == nil {
			_, err = s.put(data, true)
		}
		if err != nil {
			return err
		}
	}
	past, err := readPast(from)
	if err != nil {
		return err
	}
	q, err := past.quarantine(from)
	if err != nil || q == nil {
		return err
	}
	for _, h := range q.held {
		err = errors.Join(err, s.addSlot(q, h.slot))
	}
	return errors.Join(err, q.close())
}

// addSlot keeps a file that lies in the quarantine of a journal.
func (s *store) addSlot(q *quarantine, slot string) error {
	f, err := q.open(slot)
	if errors.Is(err, unix.ELOOP) {
		return nil // a link
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > s.limit {
		return err
	}
	_, err = s.write(f, "", false)
	return ignoreNoSpace(err)
}
