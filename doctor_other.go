//go:build !linux

package main

// landlock is Linux's alone.
func landlock() int { return 0 }
