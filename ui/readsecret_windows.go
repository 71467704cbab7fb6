package ui

import (
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// echoMode is whether a console shows what is typed.
type echoMode struct {
	handle windows.Handle
	found  uint32
}

// hideEcho stops a console from showing what is typed; lines stay its own.
func hideEcho(in *os.File) (*echoMode, error) {
	e := &echoMode{handle: windows.Handle(in.Fd())}
	if err := windows.GetConsoleMode(e.handle, &e.found); err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	return e, e.hide()
}

func (e *echoMode) hide() error {
	return windows.SetConsoleMode(e.handle, e.found&^windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_PROCESSED_INPUT)
}

func (e *echoMode) restore() error { return windows.SetConsoleMode(e.handle, e.found) }

func secretSignals() []os.Signal { return []os.Signal{os.Interrupt} }

func dieOf(os.Signal) error { return nil }
