package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"artoo/ui/screen"
)

// Choose asks which of several things is meant, before a conversation begins:
// a number or a name and Enter. in is a terminal in its ordinary mode. The end
// of the input, or three answers that are none, is an error.
func Choose(ctx context.Context, in io.Reader, s *screen.Screen, title string, names []string) (string, error) {
	lines := []string{title}
	for i, name := range names {
		lines = append(lines, fmt.Sprintf("  %d  %s", i+1, name))
	}
	s.Line(strings.Join(lines, "\n"))
	for range 3 {
		s.Prompt(fmt.Sprintf("Which one? [1-%d] ", len(names)))
		text, err := readPlainLine(in)
		s.PromptDone()
		if err != nil {
			return "", err
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		text = strings.TrimSpace(text)
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(names) {
			return names[n-1], nil
		}
		for _, name := range names {
			if strings.EqualFold(name, text) {
				return name, nil
			}
		}
		s.Line("  a number from 1 to " + strconv.Itoa(len(names)) + ", or a name")
	}
	return "", errors.New("no answer")
}

// readPlainLine reads one line and not a byte more: the rest is for whoever
// reads next.
func readPlainLine(in io.Reader) (string, error) {
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
func ReadSecret(in *os.File, s *screen.Screen, prompt string) (string, error) {
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
		text, err := readPlainLine(in)
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
