package conversation

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"artoo/provider"
	"artoo/tool/text"
)

// Session is one session file, append-only JSON lines, made by a Store, for several goroutines.
type Session struct {
	store    Store
	path     string
	readOnly bool
	newer    int // format version of a newer artoo, else 0
	notices  []string
	history  []entry // messages, counts and trims when it was opened
	users    []place // the user's messages in the file from
	from     string  // the file it was read from; "" for a new session
	resumed  bool

	mu      sync.Mutex
	header  Header
	file    File         // nil until the first append
	lock    *flock.Flock // nil until the file is written, or opened for it
	chain   []place      // its history in the file from, which a fork writes before its first line
	owed    *trimRecord  // drops messages too old to send; written before the next line; may be nil
	last    string       // id of the last line
	parent  string       // id of the one that it follows
	next    int          // number of the next line
	torn    bool         // the file does not end with a newline
	broken  bool         // its last line cannot be read
	bare    bool         // no line of the file is a header that can be read; the next append writes one
	dirty   bool         // lines were written since the last turn marker
	names   []string     // directories with new names in them that may not be on the disk yet
	turn    turnRecord
	totals  Totals
	updated time.Time
}

// File is the file of a session.
type File interface {
	io.WriteCloser
	Sync() error
}

// Totals sums the usage of a session's requests.
type Totals struct {
	Requests int            `json:"requests"`
	Usage    provider.Usage `json:"usage"`
	// CostUSD is in US dollars, nil if the price of any request is unknown.
	CostUSD  *float64 `json:"cost_usd"`
	Unpriced int      `json:"unpriced,omitempty"` // requests of unknown price
}

func (t *Totals) add(u UsageRecord) {
	t.Requests++
	t.Usage = t.Usage.Add(u.Usage)
	switch {
	case u.CostUSD == nil:
		t.Unpriced++
		t.CostUSD = nil
	case t.Unpriced == 0:
		sum := *u.CostUSD
		if t.CostUSD != nil {
			sum += *t.CostUSD
		}
		t.CostUSD = &sum
	}
}

// ID is the session's short, unique name.
func (s *Session) ID() string { return s.header.ID }

// Header holds the session's directory, model and settings at its beginning.
func (s *Session) Header() Header { return s.header }

// Complete takes from h what a damaged first line no longer holds; the next append writes it down. It does nothing to
// a session with a header.
func (s *Session) Complete(h Header) {
	if !s.bare {
		return
	}
	s.header.CWD = cmp.Or(s.header.CWD, h.CWD)
	s.header.Version, s.header.Provider, s.header.Model, s.header.System = h.Version, h.Provider, h.Model, h.System
}

// Path is the session's file. It exists once something was appended.
func (s *Session) Path() string { return s.path }

// OutputDir is for Config.OutputDir. It exists once it holds a file.
func (s *Session) OutputDir() string { return strings.TrimSuffix(s.path, fileExt) + outputExt }

// OutputDirs are the directories of files that results may name: the session's and those it was
// forked from.
func (s *Session) OutputDirs() []string {
	dirs := []string{s.OutputDir()}
	for _, name := range s.header.Outputs {
		dirs = append(dirs, filepath.Join(filepath.Dir(s.path), filepath.Base(name)))
	}
	return dirs
}

// Notices are sentences for the user about repairs and omissions when the session was opened.
func (s *Session) Notices() []string { return slices.Clone(s.notices) }

// Resumed reports whether the session had a history when it was opened.
func (s *Session) Resumed() bool { return s.resumed }

// ReadOnly reports whether appends are refused.
func (s *Session) ReadOnly() bool { return s.readOnly }

// Updated is the time of the last line, zero for a new session.
func (s *Session) Updated() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.updated
}

// Totals sums the usage lines of the file. A fork starts from zero.
func (s *Session) Totals() Totals {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.totals
}

// Messages is the untrimmed history at opening, with the summaries in force; after Open and Fork
// perhaps without the oldest part of a long session. It is empty once New took the session.
func (s *Session) Messages() []provider.Message {
	back := map[string]bool{}
	for _, e := range s.history {
		if record, ok := e.payload.(*uncompactRecord); ok {
			back[record.Compact] = true
		}
	}
	var messages []provider.Message
	for _, e := range s.history {
		switch record := e.payload.(type) {
		case *messageRecord:
			messages = append(messages, record.Message)
		case *compactRecord:
			if record.Summary != "" && !back[e.ID] {
				messages = append(messages, summaryItem(e.ID, record.Summary).msg)
			}
		}
	}
	return messages
}

// Name is the user's name for the session, or "".
func (s *Session) Name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turn.Name
}

// Rename gives the session a name of one line, or none for "", and syncs the file.
func (s *Session) Rename(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name = text.Clip(strings.Join(strings.Fields(name), " "), nameChars)
	if _, err := s.appendLocked(typeNote, &Note{Kind: noteName, Text: name}); err != nil {
		return err
	}
	s.turn.Name = name
	return s.endTurn()
}

// nameChars is how long the name of a session may be, in characters.
const nameChars = 80

// UserCount is how many messages of the user the session held when it was opened.
func (s *Session) UserCount() int { return len(s.users) }

// UserMessage reads the n-th of them, from 0.
func (s *Session) UserMessage(n int) (provider.Message, error) {
	f, err := os.Open(s.from)
	if err != nil {
		return provider.Message{}, fileError(s.from, err)
	}
	defer f.Close()
	line, err := s.users[n].read(f)
	if err != nil {
		return provider.Message{}, fileError(s.from, err)
	}
	e, err := decodeEntry(line)
	if record, ok := e.payload.(*messageRecord); ok && err == nil {
		m, _ := s.withImages(record.Message, true)
		return m, nil
	}
	return provider.Message{}, fileError(s.from, errors.Join(errors.New("a message of it cannot be read"), err))
}

// Sync writes the end of a turn if anything was written since the last one, and syncs the file.
func (s *Session) Sync() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil || !s.dirty {
		return nil
	}
	return s.endTurn()
}

func (s *Session) endTurn() error {
	turn, totals := s.turn, s.totals
	turn.Totals, turn.CWD = &totals, s.header.CWD
	if _, err := s.appendLocked(typeTurn, &turn); err != nil {
		return err
	}
	if err := s.file.Sync(); err != nil {
		return fileError(s.path, err)
	}
	return fileError(s.path, s.syncNames())
}

func (s *Session) named(dir string) {
	if !slices.Contains(s.names, dir) {
		s.names = append(s.names, dir)
	}
}

// syncNames syncs the directories with new files, where the file system can.
func (s *Session) syncNames() error {
	for ; len(s.names) > 0; s.names = s.names[1:] {
		dir, err := s.store.openFile(s.names[0], os.O_RDONLY)
		if err != nil {
			return err
		}
		err = dir.Sync()
		if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
			err = nil
		}
		if err = errors.Join(err, dir.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the session for other processes. An unused session leaves no files.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.file != nil {
		err = s.file.Close()
		s.file = nil
	}
	err = errors.Join(err, release(s.lock))
	s.lock, s.readOnly = nil, true
	return fileError(s.path, err)
}

// lockExt is added to a session file's name. The lock is a file of its own.
const lockExt = ".lock"

// errInUse: another process or Session writes the file. errNoLocks: that cannot be known on this
// file system.
var (
	errInUse   = errors.New("in use by another artoo")
	errNoLocks = errors.New("on a file system without locks")
)

// lockTries bounds the race with a process that removes the lock.
const lockTries = 100

// lockFile locks the session file at path, until the process dies, or returns errInUse or errNoLocks.
func lockFile(path string) (*flock.Flock, error) {
	path += lockExt
	for range lockTries {
		lock := flock.New(path)
		got, err := lock.TryLock()
		if noLocks(err) {
			return nil, errors.Join(errNoLocks, notMissing(os.Remove(path)))
		}
		if err != nil {
			return nil, err
		}
		if !got {
			return nil, errInUse
		}
		// The holder may have removed the file before this lock was taken: then no other process sees it.
		held, err := lock.Stat()
		if err == nil {
			var now os.FileInfo
			if now, err = os.Stat(path); err == nil && os.SameFile(held, now) {
				return lock, nil
			}
		}
		if err := errors.Join(notMissing(err), lock.Unlock()); err != nil {
			return nil, err
		}
	}
	return nil, errNoLocks
}

// noLocks reports whether flock(2) is not supported, as on some network and FUSE file systems.
func noLocks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.ENOLCK)
}

// release removes the lock's file and frees the lock; nil is no lock.
func release(lock *flock.Flock) error {
	if lock == nil {
		return nil
	}
	return errors.Join(notMissing(os.Remove(lock.Path())), lock.Unlock())
}

func notMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Error is a session that cannot be found, read or written.
type Error struct {
	Err        error // why, the session named; never nil
	kind, hint string
}

// Error says which session, and why.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is the kind for the exit table.
func (e *Error) ErrorKind() string { return e.kind }

// ErrorHint names a way out.
func (e *Error) ErrorHint() string { return e.hint }

// fileError is the error of a session file, nil if err is nil. It names the path once.
func fileError(path string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		if e.Path != path && e.Path != "" {
			err = fmt.Errorf("%s: %w", e.Path, e.Err)
		} else {
			err = e.Err
		}
	}
	hint := "set XDG_STATE_HOME to another directory, or use --ephemeral to keep no session"
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = "free some space, " + hint
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		hint = "check owner and mode, " + hint
	}
	return &Error{fmt.Errorf("session %s: %w", path, err), "internal", hint}
}

// lookupError is the error of a session that is missing or ambiguous.
func lookupError(format string, args ...any) error {
	return &Error{fmt.Errorf(format, args...), "usage", "artoo sessions list"}
}

// readOnlyError refuses an append. newer is the format of a newer artoo's file, else 0.
func readOnlyError(path string, newer int) error {
	if newer > 0 {
		return &Error{
			fmt.Errorf("session %s: written by a newer artoo (format %d, this one writes %d), so it can only be read",
				path, newer, formatVersion), "usage", "a newer artoo, or a new session"}
	}
	return &Error{fmt.Errorf("session %s: opened for reading only", path), "usage", "resume the session to write to it"}
}

// FullError is a history that no trim can make fit.
type FullError struct {
	Tokens int // estimate of the messages left
	Budget int // the limit
	// Overhead (system prompt and tools) and Latest (the user's latest message) are parts
	// of Tokens that no trim can touch.
	Overhead, Latest int
}

// Error says how much too much.
func (e *FullError) Error() string {
	return fmt.Sprintf("the context is full: the part that must stay is about %s tokens, the budget is %s",
		Tokens(e.Tokens), Tokens(e.Budget))
}

// ErrorKind is the kind for the exit table.
func (e *FullError) ErrorKind() string { return "context" }

// HintFull names ways out of a full context.
const HintFull = "/compact, or /clear for a new session (headless: artoo without -c)"

// ErrorHint names a way out.
func (e *FullError) ErrorHint() string { return HintFull }
