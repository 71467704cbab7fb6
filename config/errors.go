package config

import (
	"strings"

	"artoo/tool/spelling"
)

// The kinds of failure this package reports, words of the exit table.
const (
	kindUsage  = "usage"
	kindConfig = "config"
	kindAuth   = "auth"
)

// Error says what in the settings is wrong, and where. It never holds the value of a secret.
type Error struct {
	Kind  string // "usage", "config" or "auth"
	Where string // "ARTOO_COLOR", "--color", "…/config.toml line 4", "anthropic"
	Why   string // lower case, no full stop
	Hint  string // the next step; "" when Why says it
	Err   error  // the cause; may be nil
}

// plain embeds an Error under a name that does not hide its method.
type plain = Error

// wrong is an error that nothing else caused.
func wrong(kind, where, why, hint string) *Error { return because(kind, where, why, nil, hint) }

// because is an error with its cause.
func because(kind, where, why string, err error, hint string) *Error {
	return &Error{Kind: kind, Where: where, Why: why, Err: err, Hint: hint}
}

// Error is "where: why".
func (e *Error) Error() string { return e.Where + ": " + e.Why }

// Unwrap returns the cause, which may be nil.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the exit table.
func (e *Error) ErrorKind() string { return e.Kind }

// ErrorHint is the text after "try:".
func (e *Error) ErrorHint() string { return e.Hint }

// didYouMean is the tail of a warning, "" when nothing is near.
func didYouMean(word string, candidates []string) string {
	if near := spelling.Nearest(word, candidates); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
