//go:build !linux

package cli

// landlock is Linux's alone.
func landlock() int { return 0 }
