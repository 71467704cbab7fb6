//go:build !linux

package cli

// HideEnvironment has nothing to do: no file here shows the environment that a
// process started with.
func HideEnvironment() {}
