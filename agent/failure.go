package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"syscall"

	"github.com/sourcegraph/conc/panics"

	"artoo/conversation"
	"artoo/provider"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// ErrNobody is Ask's answer where no one can be asked.
var ErrNobody = errors.New("no one can answer (headless run)")

// Kind names a failure in JSON output and decides the exit code.
type Kind string

// The kinds of failure. Those of a provider have the provider package's words.
const (
	KindInternal   Kind = "internal"
	KindSchema     Kind = "schema"
	KindUnmet      Kind = "unmet"
	KindConflict   Kind = "conflict"
	KindUsage      Kind = "usage"
	KindConfig     Kind = "config"
	KindAuth       Kind = "auth"
	KindBilling    Kind = "billing"
	KindProvider   Kind = "provider"
	KindNetwork    Kind = "network"
	KindTimeout    Kind = "timeout"
	KindInvalid    Kind = "invalid"
	KindRateLimit  Kind = "rate_limit"
	KindOverloaded Kind = "overloaded"
	KindApproval   Kind = "approval"
	KindCap        Kind = "cap"
	KindContext    Kind = "context"
	KindRefused    Kind = "refused"
	KindFindings   Kind = "findings"
)

// Exit is a row of the exit table.
type Exit struct {
	Code    int
	Kinds   []Kind
	Meaning string
}

// Exits is the table of exit codes, shown by --help and in the docs.
var Exits = []Exit{
	{0, nil, "done"},
	{1, []Kind{KindInternal, KindSchema, KindUnmet, KindConflict},
		"a bug, an I/O error, an answer that does not fit the schema, a test that never passed (--until, bisect), " +
			"conflicting changes"},
	{2, []Kind{KindUsage, KindConfig},
		"bad flags, variables or files; unknown provider or model; no prompt; input that came too late"},
	{3, []Kind{KindAuth, KindBilling}, "no key, refused key, no credit"},
	{4, []Kind{KindProvider, KindNetwork, KindTimeout, KindInvalid},
		"the provider or the network failed, after the retries"},
	{5, []Kind{KindRateLimit, KindOverloaded}, "the provider is too busy, after the retries; try later"},
	{6, []Kind{KindApproval}, "a call was refused because no one could answer"},
	{7, []Kind{KindCap}, "a cap on steps, tokens, money, time or effects, or a reply that was cut off twice"},
	{8, []Kind{KindContext}, "the context is full and could not be reduced"},
	{9, []Kind{KindRefused}, "the model refused"},
	{10, []Kind{KindFindings}, "artoo review --fail-on found something at or above its level"},
}

// ExitCode is the exit code of a kind; 1 for a kind that is in no row.
func (k Kind) ExitCode() int {
	for _, row := range Exits {
		if slices.Contains(row.Kinds, k) {
			return row.Code
		}
	}
	return 1
}

// Failure is an error with a kind and a hint, for stderr ("artoo: activity: cause", "  try: hint") and JSON.
type Failure struct {
	Kind Kind
	What string // What is the activity in a few words: "session", "config.toml line 3".
	Hint string // Hint is an imperative without "try:"; "" when there is nothing to say.
	Err  error  // why; never nil
}

// Error is the one line of the failure without program name and hint.
func (f *Failure) Error() string {
	if f.What == "" {
		return f.Err.Error()
	}
	return f.What + ": " + f.Err.Error()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// ErrorKind names the kind.
func (f *Failure) ErrorKind() string { return string(f.Kind) }

// ErrorHint is the `try:` line.
func (f *Failure) ErrorHint() string { return f.Hint }

// Masked is the failure with its words masked; nil where that changes nothing, and for nil.
func (f *Failure) Masked(mask func(string) string) *Failure {
	if f == nil {
		return nil
	}
	why := f.Err.Error()
	masked := Failure{f.Kind, mask(f.What), mask(f.Hint), maskedError{f, mask(why)}}
	if masked.What == f.What && masked.Hint == f.Hint && masked.Err.Error() == why {
		return nil
	}
	return &masked
}

// maskedError is an error with other words.
type maskedError struct {
	error
	text string
}

// Error is the masked text.
func (e maskedError) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e maskedError) Unwrap() error { return e.error }

// Classify turns any error into a Failure, by its ErrorKind() and ErrorHint() methods. nil stays nil.
func Classify(err error) *Failure {
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*Failure](err); ok {
		return f
	}
	f := &Failure{Kind: KindInternal, Err: err}
	var kinder interface{ ErrorKind() string }
	if errors.As(err, &kinder) {
		f.Kind = Kind(kinder.ErrorKind())
	} else if errors.Is(err, context.DeadlineExceeded) {
		f.Kind = KindTimeout
	}
	var hinter interface{ ErrorHint() string }
	if errors.As(err, &hinter) {
		f.Hint = hinter.ErrorHint()
	}
	if f.Hint == "" {
		f.Hint = defaultHint(f.Kind, err)
	}
	return f
}

var hints = map[Kind]string{
	KindAuth:       "artoo login, or set the provider's key variable or ARTOO_API_KEY, see artoo help environment",
	KindBilling:    "add credit with the provider, or choose another with --provider",
	KindRateLimit:  "again in a few minutes, or choose another model with --model",
	KindOverloaded: "again in a few minutes, or another provider with --provider: this one is overloaded",
	KindProvider:   "again later, or -v to see the request and the reply",
	KindInvalid:    "another model with --model, or -v to see the request",
	KindNetwork:    "check the network, HTTPS_PROXY and ARTOO_BASE_URL",
	KindTimeout:    "again, or allow more time with ARTOO_IDLE_TIMEOUT or ARTOO_REQUEST_TIMEOUT",
	KindContext:    conversation.HintFull,
	KindRefused:    "rephrase it, or choose another model with --model",
}

func defaultHint(kind Kind, err error) string {
	refused := provider.AsError(err)
	switch {
	case kind == KindAuth && refused != nil && refused.Status == 403:
		return "the provider knows the key but does not let it do this: check the key's rights, or choose another model with --model"
	case hints[kind] != "":
		return hints[kind]
	case errors.Is(err, syscall.ENOSPC):
		return "free some space on the disk"
	case errors.Is(err, os.ErrPermission):
		return "check the owner and mode of the file"
	}
	return ""
}

// ErrStopped ends a turn that the user stopped at a question.
var ErrStopped = errors.New("stopped by the user")

// guard turns a panic into an error: a tool's bug is the tool's error.
func guard[T any](f func() (T, error)) (v T, err error) {
	defer func() {
		if r := recover(); r != nil {
			crashed, stack := r, debug.Stack()
			if of, ok := r.(*panics.Recovered); ok { // a goroutine that it waited for
				crashed, stack = of.Value, of.Stack
			}
			err = &crash{crashed, text.Clip(string(stack), 1500)}
		}
	}()
	return f()
}

// guarded is guard for a func without results; the error is a crash.
func guarded(f func()) error {
	_, err := guard(func() (none struct{}, err error) { f(); return none, nil })
	return err
}

// crash is a panic as an error.
type crash struct {
	value any
	where string // the first frames of the stack; more would only fill the context
}

// Error begins with a line that names the crash.
func (c *crash) Error() string { return fmt.Sprintf("this call crashed: %v\n%s", c.value, c.where) }

// withLost joins the errors of the session file to the error that ended the turn, a lost session only once.
func withLost(err, lost error) error {
	_, reported := errors.AsType[*conversation.Error](err)
	if _, again := errors.AsType[*conversation.Error](lost); reported && again {
		return err
	}
	return errors.Join(err, lost)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

func capFailure(why, hint string) error {
	return &Failure{Kind: KindCap, Err: errors.New(why), Hint: hint}
}

// executable reports whether a path is a program, to be run by someone.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func exitWords(end shell.Result) string {
	if end.Exit.Signal != "" {
		return "killed by " + end.Exit.Signal
	}
	of, others := shell.OfPipe(end.Pipe, func(int) string { return "" })
	return fmt.Sprintf("exit status %d%s%s", end.Exit.Code, of, others)
}
