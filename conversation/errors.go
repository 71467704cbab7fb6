package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

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

// ErrorHint says what can be done.
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
	Tokens int // estimate of what is left
	Budget int // the limit
	// Overhead (system prompt and tools) and Latest (the user's latest message) are parts
	// of Tokens that no trim can touch.
	Overhead, Latest int
}

// Error says how much too much.
func (e *FullError) Error() string {
	return fmt.Sprintf("the context is full: what cannot be left out is about %s tokens, the budget is %s",
		Tokens(e.Tokens), Tokens(e.Budget))
}

// ErrorKind is the kind for the exit table.
func (e *FullError) ErrorKind() string { return "context" }

// HintFull is what can be done about a full context.
const HintFull = "/compact, or /clear for a new session (without a conversation: artoo without -c)"

// ErrorHint says what can be done.
func (e *FullError) ErrorHint() string { return HintFull }
