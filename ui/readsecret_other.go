//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package ui

import (
	"errors"
	"os"
)

type echoMode struct{}

func hideEcho(*os.File) (*echoMode, error) {
	return nil, errors.New("a key cannot be typed unseen here: artoo login NAME < FILE")
}

func (*echoMode) hide() error    { return nil }
func (*echoMode) restore() error { return nil }

func secretSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func dieOf(os.Signal) error { return nil }
