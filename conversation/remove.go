package conversation

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Remove deletes sessions with what lies beside them: outputs, images, the salt of
// their marks. Outputs that a copy of a session still names stay. asked are as for
// Open. One that is in use is not deleted; the error, an *Error, names each that
// was not. It returns what was deleted.
func (st Store) Remove(asked ...string) (removed []Info, err error) {
	going := map[string]bool{}
	var paths []string
	for _, id := range asked {
		path, findErr := st.find(id)
		if findErr != nil {
			return nil, findErr // nothing is deleted where one is not meant
		}
		if !going[path] {
			going[path], paths = true, append(paths, path)
		}
	}
	named, err := st.namedOutputs(going)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, path := range paths {
		info, err := st.remove(path, named)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		removed = append(removed, info)
	}
	return removed, errors.Join(faults...)
}

func (st Store) remove(path string, named map[string]bool) (info Info, err error) {
	lock, err := st.lockFile(path)
	switch {
	case errors.Is(err, errInUse):
		return info, &Error{errors.New("session " + idOf(path) + " is in use by another artoo"), "usage",
			"leave it there first"}
	case err != nil && !errors.Is(err, errNoLocks):
		return info, fileError(path, err)
	}
	defer func() { err = errors.Join(err, fileError(path, lock.release())) }()
	stat, err := os.Stat(path)
	if err != nil {
		return info, fileError(path, err)
	}
	var d describer
	if info, err = d.describe(found{path, stat.ModTime(), stat.Size()}); err != nil {
		info = Info{ID: idOf(path), Path: path} // damaged: it goes all the same
	}
	beside := strings.TrimSuffix(path, fileExt)
	err = st.removeOutputs(path, named)
	// The session goes last: where something cannot be deleted it can be asked for
	// again.
	if err = errors.Join(err, notMissing(os.Remove(beside+saltExt))); err == nil {
		err = os.Remove(path)
	}
	return info, fileError(path, err)
}

// removeOutputs deletes the outputs of a session, and those of sessions deleted before
// that it was copied from, but for what others name.
func (st Store) removeOutputs(path string, named map[string]bool) error {
	own := filepath.Base(strings.TrimSuffix(path, fileExt)) + outputExt
	going := []string{own}
	e, err := firstEntry(path)
	if h, ok := e.payload.(*Header); ok && err == nil {
		going = append(going, h.Outputs...)
	}
	for _, name := range going {
		dir := filepath.Join(st.Dir, filepath.Base(name))
		session, ok := strings.CutSuffix(dir, outputExt)
		if !ok || named[name] {
			continue
		}
		if _, statErr := os.Stat(session + fileExt); name == own || errors.Is(statErr, os.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(dir))
		}
	}
	return err
}

// namedOutputs are the output directories that sessions name besides those that go.
func (st Store) namedOutputs(going map[string]bool) (map[string]bool, error) {
	files, err := st.files()
	named := map[string]bool{}
	for _, f := range files {
		if going[f.path] {
			continue
		}
		e, err := firstEntry(f.path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fileError(f.path, err)
		}
		if h, ok := e.payload.(*Header); ok {
			for _, name := range h.Outputs {
				named[name] = true
			}
		}
	}
	return named, err
}

// firstEntry is the first line of a file, nothing where it cannot be understood.
func firstEntry(path string) (e entry, err error) {
	f, err := os.Open(path)
	if err != nil {
		return e, err
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadBytes('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return e, err
	}
	if e, err = decodeEntry(line); err != nil {
		return entry{}, nil
	}
	return e, nil
}
