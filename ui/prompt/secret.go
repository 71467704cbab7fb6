package prompt

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadPlainLine reads one line and not a byte more: the rest is for the next
// reader.
func ReadPlainLine(in io.Reader) (string, error) {
	var line []byte
	var one [1]byte
	for {
		n, err := in.Read(one[:])
		if n == 1 {
			if one[0] == '\n' {
				return string(line), nil
			}
			line = append(line, one[0])
			continue
		}
		if err != nil {
			return "", err
		}
	}
}

// errNoSecret is the end of a question by a signal where there is no way to die
// of it.
var errNoSecret = errors.New("interrupted")

// ReadSecret asks on a terminal for a line that is not shown. The terminal is
// left as it was found however the question ends: a signal ends the program by
// that very signal, once the echo is back. The prompt must be safe to show.
func ReadSecret(in *os.File, s Screen, prompt string) (string, error) {
	echo, err := hideEcho(in)
	if err != nil {
		return "", err
	}
	defer echo.restore() // again at the end; it does nothing more then
	signals, stop := watchSignals()
	defer stop()
	s.Prompt(prompt)
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		text, err := ReadPlainLine(in)
		came <- line{text, err}
	}()
	for {
		select {
		case l := <-came:
			s.PromptDone()
			return l.text, errors.Join(l.err, dropRest(in), echo.restore())
		case sig := <-signals:
			if isResize(sig) {
				continue
			}
			if isContinue(sig) { // the shell that stopped us may have its own idea of echo
				if err := echo.hide(); err != nil {
					return "", err
				}
				s.Draw([]byte(prompt))
				continue
			}
			err := errors.Join(dropRest(in), echo.restore())
			s.Draw([]byte("\n"))
			s.PromptDone()
			return "", errors.Join(errNoSecret, err, dieOf(sig))
		}
	}
}

// dropRest throws away what was typed or pasted beyond the line, or before a
// signal: it may be the rest of a secret, and the shell would show it and run it.
func dropRest(in *os.File) error {
	if err := flushInput(in); !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// echoMode is whether a terminal shows what is typed. Lines, Ctrl-C and Ctrl-Z
// stay the kernel's, and so does the newline at the end.
type echoMode struct {
	fd    int
	found unix.Termios
}

// hideEcho stops a terminal from showing what is typed.
func hideEcho(in *os.File) (*echoMode, error) {
	fd, err := fdOf(in)
	if err != nil {
		return nil, err
	}
	found, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("terminal: %w", err)
	}
	e := &echoMode{fd: fd, found: *found}
	return e, e.hide()
}

func (e *echoMode) hide() error {
	hidden := e.found
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(e.fd, setTermios, &hidden); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

func (e *echoMode) restore() error {
	if err := unix.IoctlSetTermios(e.fd, setTermios, &e.found); err != nil {
		return fmt.Errorf("terminal: %w", err)
	}
	return nil
}

// dieOf ends the program as the signal does by itself. It returns only when the
// signal cannot be sent.
func dieOf(s os.Signal) error {
	number, ok := s.(syscall.Signal)
	if !ok {
		return nil
	}
	signal.Reset(s)
	if err := syscall.Kill(syscall.Getpid(), number); err != nil {
		return err
	}
	select {}
}
