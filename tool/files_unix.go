//go:build unix

package tool

import "syscall"

// openFlags are added when a file is opened for reading: a named pipe without a
// writer must not block, even if it took the place of a file a moment ago.
const openFlags = syscall.O_NONBLOCK

// badName says what is wrong with one name of a path; here nothing can be.
func badName(string) string { return "" }
