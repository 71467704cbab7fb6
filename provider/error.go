package provider

import (
	"cmp"
	"errors"
	"fmt"
	"time"
)

// ErrorKind sorts failures by the caller's ways out. The words are those of the JSON output.
type ErrorKind string

// The kinds a wire may report.
const (
	KindAuth       ErrorKind = "auth"       // no key, refused key
	KindBilling    ErrorKind = "billing"    // no credit, quota used up: waiting does not help
	KindConfig     ErrorKind = "config"     // unknown model or endpoint: the user must change a setting
	KindProvider   ErrorKind = "provider"   // the server failed (5xx), or its reply made no sense
	KindNetwork    ErrorKind = "network"    // no connection, or it broke off before the terminal event
	KindTimeout    ErrorKind = "timeout"    // silence or a deadline
	KindInvalid    ErrorKind = "invalid"    // the server refused the request as malformed (400, 422)
	KindRateLimit  ErrorKind = "rate_limit" // 429
	KindOverloaded ErrorKind = "overloaded" // 503, 529 and their in-stream forms
	KindContext    ErrorKind = "context"    // the request does not fit the model's window
	KindRefused    ErrorKind = "refused"    // the model or a filter refused
	KindCap        ErrorKind = "cap"        // a cap of the caller's was reached in the middle of the request
	KindCanceled   ErrorKind = "canceled"   // the caller's context ended the request
)

// Error is the error type of all wires. It unwraps to context.Canceled and DeadlineExceeded.
type Error struct {
	Kind       ErrorKind
	Provider   string        // the configured provider's name
	Status     int           // HTTP status, or 0
	Code       string        // the provider's own code or type of the error
	Message    string        // the provider's own words, or the cause's; unsanitised, never a key
	Hint       string        // the user's next step, "" if only the kind is known
	RetryAfter time.Duration // the server's wait; 0 if it named none
	Retry      *bool         // the server's explicit word (x-should-retry); nil when it said nothing
	RequestID  string
	Local      bool  // the server is on a loopback or private address
	Images     bool  // the request was refused for an image in it, or for their number
	Usage      Usage // usage of the failed try, as far as known
	// Keep are the parts of a broken reply that the history must hold beside its text; may be nil.
	Keep []Part
	// Window and Requested are the numbers of a KindContext error, 0 when unknown.
	Window, Requested int
	// InBytes marks a KindContext error about bytes, not tokens.
	InBytes bool
	// Elsewhere marks a KindContext error about a history kept elsewhere: nothing here shortens it.
	Elsewhere bool
	// Empty says that the reply holds nothing at all, as some servers answer a request that is too long.
	Empty bool
	// Missing is the end mark that a reply lacks whose stream ended without an error, "" for any other failure.
	Missing string
	Err     error // the cause; may be nil
}

// CodeNoImages is the Code of an error about a model that takes no images.
const CodeNoImages = "no_images"

// CodeNoSchema is the Code of an error about a schema that the server does not hold this model to. Structures
// reports false from then on.
const CodeNoSchema = "no_schema"

// Error names the provider and the failure, in one line without a full stop.
func (e *Error) Error() string {
	why := e.why()
	if e.Status != 0 {
		return fmt.Sprintf("%s: %s (%d)", e.Provider, why, e.Status)
	}
	return fmt.Sprintf("%s: %s", e.Provider, why)
}

func (e *Error) why() string {
	if e.Message == "" && e.Err != nil {
		return cmp.Or(e.Err.Error(), string(e.Kind))
	}
	return cmp.Or(e.Message, string(e.Kind))
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the program's exit table.
func (e *Error) ErrorKind() string { return string(e.Kind) }

// ErrorHint is the `try:` line, "" for the kind's default.
func (e *Error) ErrorHint() string { return e.Hint }

// Temporary reports whether the same request may succeed if sent again. The server's
// explicit word wins; a local server's timeout is final, since it is most often still
// computing.
func (e *Error) Temporary() bool {
	if e.Kind == KindCanceled {
		return false
	}
	if e.Retry != nil {
		return *e.Retry
	}
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindNetwork, KindProvider:
		return true
	case KindTimeout:
		return !e.Local
	}
	return false
}

// AsError finds the *Error in err, or nil.
func AsError(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}
