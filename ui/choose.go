package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
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
