//go:build !windows

package cli

import (
	"os"

	"golang.org/x/term"
)

// consoleOf says what stands behind a stream. restore undoes what had to be
// changed for it.
func consoleOf(f *os.File, _ bool) (c console, restore func()) {
	if term.IsTerminal(int(f.Fd())) {
		return consoleFull, func() {}
	}
	return consoleNone, func() {}
}
