//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package ui

import (
	"io"
	"os"
)

// watchModes has nothing to mend: the terminal's modes are not known here.
func watchModes(io.Reader) (mend func() error, err error) { return func() error { return nil }, nil }

// passSignals passes nothing on: Ctrl-C reaches the child by itself.
func passSignals() (to func(*os.Process), stop func()) { return func(*os.Process) {}, func() {} }

// keyboardSignal says no: a program's exit status does not tell.
func keyboardSignal(*os.ProcessState) bool { return false }
