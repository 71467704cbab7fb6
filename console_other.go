//go:build !windows

package main

import (
	"os"

	"golang.org/x/term"
)

// consoleOf says what stands behind a stream. restore undoes what had to be
// changed for it.
func consoleOf(f *os.File) (c console, restore func()) {
	if term.IsTerminal(int(f.Fd())) {
		return consoleFull, func() {}
	}
	return consoleNone, func() {}
}
