package ui

import (
	"errors"
	"os"
	"os/signal"

	"artoo/ui/screen"
)

// errNoSecret is the end of a question by a signal where there is no way to die
// of it.
var errNoSecret = errors.New("interrupted")

// ReadSecret asks on a terminal for a line that is not shown. The terminal is
// left as it was found however the question ends: a signal ends the program by
// that very signal, once the echo is back. The prompt must be safe to show.
func ReadSecret(in *os.File, s *screen.Screen, prompt string) (string, error) {
	echo, err := hideEcho(in)
	if err != nil {
		return "", err
	}
	defer echo.restore() // again at the end; it does nothing more then
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, secretSignals()...)
	defer signal.Stop(signals)
	s.Prompt(prompt)
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		text, err := readPlainLine(in)
		came <- line{text, err}
	}()
	for {
		select {
		case l := <-came:
			s.PromptDone()
			return l.text, errors.Join(l.err, dropRest(in), echo.restore())
		case sig := <-signals:
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
