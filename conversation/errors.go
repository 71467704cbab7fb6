package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// FileError is a session file that could not be made, read or written.
type FileError struct {
	Path string
	Err  error // the system's words; never nil
}

// Error is the path and the cause.
func (e *FileError) Error() string { return "session " + e.Path + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ErrorKind is the kind for the exit table.
func (e *FileError) ErrorKind() string { return "internal" }

// ErrorHint says what can be done.
func (e *FileError) ErrorHint() string {
	const elsewhere = "set XDG_STATE_HOME to another directory, or use --ephemeral to keep no session"
	if errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) {
		return "free some space, " + elsewhere
	}
	if errors.Is(e.Err, os.ErrPermission) || errors.Is(e.Err, syscall.EROFS) {
		return "check owner and mode, " + elsewhere
	}
	return elsewhere
}

// fileError wraps err unless it is nil. The path that an *fs.PathError repeats
// is left out.
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
	return &FileError{Path: path, Err: err}
}

// LookupError is a session that was asked for and is not there, or not the
// only one.
type LookupError struct {
	Asked string   // the id or prefix, or the directory asked of Newest
	Found []string // ids that begin with it, when there are several
	here  bool     // Asked is a directory
}

// Error says which.
func (e *LookupError) Error() string {
	switch {
	case e.here:
		return "no session was started in " + e.Asked
	case len(e.Found) > 0:
		return fmt.Sprintf("session %s: several begin so: %s", e.Asked, strings.Join(e.Found, ", "))
	}
	return fmt.Sprintf("session %s: there is none with this id", e.Asked)
}

// ErrorKind is the kind for the exit table.
func (e *LookupError) ErrorKind() string { return "usage" }

// ErrorHint says what can be done.
func (e *LookupError) ErrorHint() string { return "artoo sessions list" }

// ReadOnlyError refuses to append to a session that was opened for reading, or
// that a newer artoo wrote.
type ReadOnlyError struct {
	Path string
	V    int // the file's version when it is a newer one, else 0
}

// Error says why.
func (e *ReadOnlyError) Error() string {
	if e.V > 0 {
		return fmt.Sprintf("session %s: written by a newer artoo (format %d, this one writes %d), so it can only be read", e.Path, e.V, formatVersion)
	}
	return "session " + e.Path + ": opened for reading only"
}

// ErrorKind is the kind for the exit table.
func (e *ReadOnlyError) ErrorKind() string { return "usage" }

// ErrorHint says what can be done.
func (e *ReadOnlyError) ErrorHint() string {
	if e.V > 0 {
		return "a newer artoo, or a new session"
	}
	return "resume the session to write to it"
}

// ErrFull is what errors.Is finds in a FullError.
var ErrFull = errors.New("the context is full")

// FullError is a history that cannot be made to fit: what may not be dropped is
// already too much.
type FullError struct {
	Tokens int // estimate of what is left
	Budget int // what it may be
	// Overhead and Latest are the parts of Tokens that no trim can touch: the
	// system prompt with the tools, and the user's latest message.
	Overhead, Latest int
}

// Error says how much too much.
func (e *FullError) Error() string {
	return fmt.Sprintf("the context is full: what cannot be left out is about %s tokens, the budget is %s", grouped(e.Tokens), grouped(e.Budget))
}

// Is makes errors.Is(err, ErrFull) true.
func (e *FullError) Is(target error) bool { return target == ErrFull }

// ErrorKind is the kind for the exit table.
func (e *FullError) ErrorKind() string { return "context" }

// HintFull is what can be done about a full context.
const HintFull = "/compact, or /clear for a new session (without a conversation: artoo without -c)"

// ErrorHint says what can be done.
func (e *FullError) ErrorHint() string { return HintFull }
