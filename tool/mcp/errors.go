package mcp

import (
	"strings"

	"artoo/tool/text"
)

// The kinds of errors, in the words that decide the exit code.
const (
	KindUsage    = "usage"
	KindConfig   = "config"
	KindAuth     = "auth"
	KindNetwork  = "network"
	KindTimeout  = "timeout"
	KindProvider = "provider"
	KindApproval = "approval"
)

// Error is why a server or a call of it gave no result.
type Error struct {
	Server string
	Kind   string
	Why    string
	Hint   string // an imperative, "" where there is nothing to try
	Err    error  // may be nil
	Last   string // the last line that the server wrote to its log; "" for none
	Task   string // the server's ID of the task that the call became; "" for none
	// Unknown says that the call may have run all the same.
	Unknown bool
}

// Error names the server and the problem. Server's own words in it are untrusted.
func (e *Error) Error() string {
	why := e.Why
	if e.Err != nil {
		why = strings.TrimPrefix(why+": "+oneLine(text.Misread(e.Err).Error()), ": ")
	}
	if e.Last != "" {
		why += "; its last line: " + e.Last
	}
	if e.Task != "" {
		why += "; the call is the server's task " + e.Task
	}
	if e.Unknown {
		why += "; unknown whether the call ran"
	}
	return "server " + e.Server + ": " + why
}

// Unwrap returns the cause, which may be nil.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is one of the kinds above.
func (e *Error) ErrorKind() string { return e.Kind }

// ErrorHint is the `try:` line.
func (e *Error) ErrorHint() string { return e.Hint }

// oneLine is a text on one line, cut where it is very long.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 500 {
		text = strings.ToValidUTF8(text[:500], "") + "…"
	}
	return text
}
