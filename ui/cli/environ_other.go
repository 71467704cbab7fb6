//go:build !linux

package cli

// hideEnvironment has nothing to do: what a process was given in its environment
// cannot be read in a file here.
func hideEnvironment() {}
