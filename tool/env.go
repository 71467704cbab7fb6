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
	// ShellTimeout is a command's default limit, ShellTimeoutMax the most the
	// model may ask for.
	ShellTimeout, ShellTimeoutMax time.Duration
}
