//go:build !unix && !windows

package tool

// openFlags are added when a file is opened for reading.
const openFlags = 0

// badName says what is wrong with one name of a path.
func badName(string) string { return "" }
