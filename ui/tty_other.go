//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ui

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// Here lines come as the system's console edits them; nothing changes its
// modes.
type ttyModes struct{}

func newTTYModes(*os.File) (*ttyModes, error) {
	return nil, errors.New("line editing: not on this system")
}

func (*ttyModes) enter() error { return nil }
func (*ttyModes) leave() error { return nil }
func (*ttyModes) again() error { return nil }

func newWaiter(io.Reader) (waiter, error) { return nil, nil }

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func isHangup(error) bool { return false }
