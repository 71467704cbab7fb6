package prompt

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadPlainLine reads one line and not a byte more.
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

// errNoSecret is the end of a question by a signal.
var errNoSecret = errors.New("interrupted")

// ReadSecret asks on a terminal for a line that is not shown. However the question ends, the
// echo is restored first; a signal then ends the program. Text typed or pasted after the line is
// discarded: the shell would show the rest of a secret and run it. The prompt must be safe to
// show.
func ReadSecret(in *os.File, s Screen, prompt string) (string, error) {
	echo, err := newTTYModes(in, withoutEcho)
	if err == nil {
		err = echo.enter()
	}
	if err != nil {
		return "", err
	}
	signals, stop := watchSignals()
	defer stop()
	s.Prompt(prompt)
	came := make(chan result, 1)
	go func() {
		text, err := ReadPlainLine(in)
		came <- result{Line{Text: text}, err}
	}()
	for {
		select {
		case r := <-came:
			s.PromptDone()
			return r.line.Text, errors.Join(r.err, flushInput(in), echo.leave())
		case sig := <-signals:
			if sig == syscall.SIGWINCH {
				continue
			}
			if sig == syscall.SIGCONT { // the shell that stopped us may have its own idea of echo
				if err := echo.again(); err != nil {
					return "", errors.Join(err, echo.leave())
				}
				s.Draw([]byte(prompt))
				continue
			}
			err := errors.Join(flushInput(in), echo.leave())
			s.Draw([]byte("\n"))
			s.PromptDone()
			return "", errors.Join(errNoSecret, err, dieOf(sig))
		}
	}
}

// withoutEcho hides typed text, except for the newline.
func withoutEcho(t *unix.Termios) {
	t.Lflag &^= unix.ECHO
	t.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
	t.Iflag |= unix.ICRNL
}

// dieOf ends the program by the signal. It returns only when the signal cannot be sent.
func dieOf(s os.Signal) error {
	signal.Reset(s)
	if err := syscall.Kill(syscall.Getpid(), s.(syscall.Signal)); err != nil {
		return err
	}
	select {}
}
