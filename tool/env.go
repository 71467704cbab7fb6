package tool

import "time"

// Env is the world the tools of one session live in. Made once by main; its
// fields are not changed while a turn runs.
type Env struct {
	// Files is the confined view of the file system; every file tool goes
	// through it.
	Files *Files
	// Dir is the absolute directory commands run in by default (the project
	// root).
	Dir string
	// Environ is the whole environment of child processes, as os.Environ gives
	// it, already without keys and with paging and prompting turned off.
	Environ []string
	// Withheld names the credential-like variables that were left out of
	// Environ; a failing command's result mentions them.
	Withheld []string
	// ShellTimeout is a command's default limit, ShellTimeoutMax the most the
	// model may ask for.
	ShellTimeout, ShellTimeoutMax time.Duration
}
