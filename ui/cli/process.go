package cli

import "os"

// Process is what the process brings: nothing else of artoo asks for it.
type Process struct {
	Args         []string // without the program's name
	In, Out, Err *os.File
	Version      string // "" in a build that was not stamped
	Commit, Date string
	// Exit ends the process at once. It is called on the goroutine that crashed,
	// where Main cannot return any more.
	Exit func(code int)
}
