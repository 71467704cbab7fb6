package ui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/windows"
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

// Foreground reports whether this process may talk to the terminal: a question
// beside a pipe is not asked on Windows.
func Foreground(*os.File) bool { return false }

func flushInput(*os.File) error { return errors.ErrUnsupported }

func inLines(*os.File) bool { return false }

func readable(*os.File, time.Duration) (bool, error) { return false, errors.ErrUnsupported }

func watchSignals() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt)
	return signals, func() { signal.Stop(signals) }
}

func endingSignals() []os.Signal { return []os.Signal{syscall.SIGTERM} }

const hangup = syscall.SIGHUP

func isResize(os.Signal) bool      { return false }
func isContinue(os.Signal) bool    { return false }
func isInterrupt(s os.Signal) bool { return s == os.Interrupt }
func isQuit(os.Signal) bool        { return false }
func exitCode(os.Signal) int       { return 1 }
func suspend() bool                { return false }
func dump() error                  { return errors.New("quit: not on this system") }

// watchModes has nothing to mend: the terminal's modes are not known here.
func watchModes(io.Reader) (mend func() error, err error) { return func() error { return nil }, nil }

// passSignals passes nothing on: Ctrl-C reaches the child by itself.
func passSignals() (to func(*os.Process), stop func()) { return func(*os.Process) {}, func() {} }

// keyboardSignal says no: a program's exit status does not tell.
func keyboardSignal(*os.ProcessState) bool { return false }

// terminalQueue knows of no queue here.
func terminalQueue(io.Writer) (flush func() error, waiting func() int) { return nil, nil }

// ownSession has nothing to do: there are no sessions here.
func ownSession(*exec.Cmd) {}

// stopCommand ends a command: there is no way to ask one.
func stopCommand(command *exec.Cmd, _ bool) error {
	if err := command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

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
	return windows.SetConsoleMode(e.handle,
		e.found&^windows.ENABLE_ECHO_INPUT|windows.ENABLE_LINE_INPUT|windows.ENABLE_PROCESSED_INPUT)
}

func (e *echoMode) restore() error { return windows.SetConsoleMode(e.handle, e.found) }

func dieOf(os.Signal) error { return nil }
