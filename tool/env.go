package tool

import "time"

// Env is the world the tools of one session live in. Made once by main; its
// fields are not changed while a turn runs.
type Env struct {
	// Files is the confined view of the file system; every file tool goes
	// through it.
	Files *Files
	// Dir is the absolute directory commands run in by default (the working
	// directory).
	Dir string
	// Environ is the whole environment of child processes, as os.Environ gives
	// it, already without keys and with paging and prompting turned off.
	Environ []string
	// Withheld names the credential-like variables that were left out of
	// Environ; a failing command's result mentions them.
	Withheld []string
	// ResultMax is the number of characters after which a result is cut for the
	// model, 0 for no limit: tools that can show less at a time do.
	ResultMax int
	// PageMax is how many bytes a tool may return that shows a page at a time and
	// says how to go on; ResultMax does not cut these. It is asked at each call,
	// since it depends on the model's window. nil stands for ResultMax.
	PageMax func() int
	// Secrets finds what is masked in a text that the model is shown, in order. nil
	// finds nothing: marks stand for nothing then.
	Secrets func(text string) []Secret
	// ShellTimeout is a command's default limit, ShellTimeoutMax the most the
	// model may ask for.
	ShellTimeout, ShellTimeoutMax time.Duration
	// Kill, when it is closed, has interrupted commands killed at once, without
	// the time to end that they have otherwise. It says nothing to a command that
	// was not interrupted. May be nil, which leaves them their time.
	Kill <-chan struct{}
}

// Secret is a place of a text, in bytes, and the mark that is shown for it.
type Secret struct {
	From, To int
	Mark     string
}

// page is how many bytes a page has at most, less what is said of it,
// but never more than most.
func (e *Env) page(most int) int {
	limit := e.ResultMax
	if e.PageMax != nil {
		limit = e.PageMax()
	}
	if limit <= 0 {
		return most
	}
	return min(most, max(limit-pageNote, pageNote))
}
