package conversation

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// DATE-TIME-ID.jsonl is a session, the same with .out its output directory.
const (
	fileExt   = ".jsonl"
	outputExt = ".out"
	stamp     = "20060102-150405"
)

// Store is a directory of session files.
type Store struct {
	Dir string           // absolute; made 0700 when the first session is written
	Now func() time.Time // nil: time.Now
	// OpenFile opens or makes a session file, 0600, with flags of os.OpenFile, and opens
	// directories to sync them. nil means os.OpenFile; tests make it fail.
	OpenFile func(path string, flags int) (File, error)

	lock func(path string) (*flock.Flock, error) // nil: lockFile
	live int                                     // 0: liveBytes
}

func (st Store) lockFile(path string) (*flock.Flock, error) {
	if st.lock != nil {
		return st.lock(path)
	}
	return lockFile(path)
}

func (st Store) openFile(path string, flags int) (File, error) {
	if st.OpenFile != nil {
		return st.OpenFile(path, flags)
	}
	return os.OpenFile(path, flags, 0o600)
}

func (st Store) now() time.Time {
	if st.Now != nil {
		return st.Now()
	}
	return time.Now()
}

// Create begins a session with CWD, Version, Provider and Model of h. The first append makes the file.
func (st Store) Create(h Header) *Session {
	h.V = formatVersion
	h.ID = NewID()
	h.ForkOf, h.Outputs = "", nil
	return st.fresh(h)
}

func (st Store) fresh(h Header) *Session {
	h.Started = st.now().UTC().Truncate(time.Millisecond)
	name := h.Started.Format(stamp) + "-" + h.ID + fileExt
	return &Session{store: st, path: filepath.Join(st.Dir, name), header: h, next: 1}
}

// NewID is the ID of a new session.
func NewID() string { return strings.ToLower(rand.Text()[:8]) }

// Open opens a session by its ID, the beginning of one, or its name. One in use, or without
// locks, is forked, and Notices says so. A newer artoo's is read-only. Errors are *Error.
func (st Store) Open(asked string) (*Session, error) { return st.found(asked, st.open) }

// Read opens a session for reading, in use or not. Appends are refused.
func (st Store) Read(asked string) (*Session, error) {
	return st.found(asked, func(path string) (*Session, error) { return st.read(path, true, 0) })
}

// Fork begins a session with the history of another, in use or not, without the user's last back
// messages and all after them; fewer are an *Error.
func (st Store) Fork(asked string, back int) (*Session, error) {
	return st.found(asked, func(path string) (*Session, error) { return st.fork(path, back) })
}

func (st Store) found(asked string, then func(path string) (*Session, error)) (*Session, error) {
	path, err := st.find(asked)
	if err != nil {
		return nil, err
	}
	return then(path)
}

func (st Store) open(path string) (*Session, error) {
	lock, err := st.lockFile(path)
	if errors.Is(err, errInUse) || errors.Is(err, errNoLocks) {
		s, forkErr := st.fork(path, 0)
		if forkErr != nil {
			return nil, forkErr
		}
		why := errInUse
		if errors.Is(err, errNoLocks) {
			why = errNoLocks
		}
		s.notices = slices.Insert(s.notices, 0, fmt.Sprintf("session %s is %v; this one continues as %s",
			s.header.ForkOf, why, s.header.ID))
		return s, nil
	}
	if err != nil {
		return nil, fileError(path, err)
	}
	s, err := st.read(path, false, 0)
	if err != nil || s.newer > 0 {
		return s, errors.Join(err, fileError(path, release(lock)))
	}
	s.lock, s.readOnly = lock, false
	return s, nil
}

func (st Store) fork(path string, back int) (*Session, error) {
	from, err := st.read(path, false, back)
	if err != nil {
		return nil, err
	}
	if back > 0 && !from.resumed {
		return nil, lookupError("session %s: it has fewer messages", from.header.ID)
	}
	h := from.header
	h.V, h.ID, h.ForkOf, h.Headless = formatVersion, NewID(), from.header.ID, false
	h.Outputs = append([]string{filepath.Base(from.OutputDir())}, from.header.Outputs...)
	s := st.fresh(h)
	s.history, s.resumed, s.turn, s.owed = from.history, from.resumed, from.turn, from.owed
	s.turn.Name = "" // two sessions of one name could not be distinguished
	s.users, s.chain, s.from = from.users, from.chain, from.from
	s.next, s.updated, s.notices = from.next, from.updated, from.notices
	return s, nil
}

// Newest opens, as Open does, the session of the directory cwd that was written last, or returns
// an *Error.
func (st Store) Newest(cwd string) (*Session, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	var d describer
	unknown := "" // the newest whose directory is not known
	for _, f := range files {
		switch info, err := d.describe(f); {
		case err != nil:
		case info.CWD != "" && filepath.Clean(info.CWD) == filepath.Clean(cwd):
			return st.open(f.path)
		case info.CWD == "" && info.Messages > 0 && unknown == "":
			unknown = info.ID
		}
	}
	if unknown != "" {
		return nil, &Error{fmt.Errorf("no session was started in %s, as far as is known: the first line of session %s is damaged", cwd, unknown),
			"usage", "artoo -r " + unknown}
	}
	return nil, lookupError("no session was started in %s", cwd)
}

// read loads a file, whole or as far as it can still be sent, read-only.
func (st Store) read(path string, whole bool, back int) (*Session, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fileError(path, err)
	}
	s, err := st.load(f, whole, back)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fileError(path, err)
	}
	s.path, s.from = path, path
	s.loadImages(!whole)
	id, made := parseName(path)
	s.header.ID = id // the name decides: a copied file is another session
	if s.header.Started.IsZero() {
		s.header.Started = made
	}
	return s, nil
}

// Remove deletes sessions with their outputs, images and salts, except outputs that a copy still
// names, and returns them. asked are as for Open. The error, an *Error, names each session that
// was not deleted, such as one in use.
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
		return info, &Error{errors.New("session " + idOf(path) + ": in use by another artoo"), "usage",
			"exit the other artoo first"}
	case err != nil && !errors.Is(err, errNoLocks):
		return info, fileError(path, err)
	}
	defer func() { err = errors.Join(err, fileError(path, release(lock))) }()
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
	// Delete the session last: after an error it can be deleted again.
	if err = errors.Join(err, notMissing(os.Remove(beside+saltExt))); err == nil {
		err = os.Remove(path)
	}
	return info, fileError(path, err)
}

// removeOutputs deletes outputs of a session and of deleted sessions it was copied from, except
// those that others name.
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

// namedOutputs are the output directories that other sessions name.
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
