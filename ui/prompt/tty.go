package prompt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"
)

// ErrNobody says that no one can answer.
var ErrNobody = errors.New("no one can answer")

// TTY asks questions on the controlling terminal, as sudo and ssh do.
type TTY struct {
	screen Screen
	file   *os.File
}

// OpenTTY opens the controlling terminal, to which the screen must write; ErrNobody without
// one.
func OpenTTY(s Screen) (*TTY, error) {
	file, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNobody
	}
	return &TTY{s, file}, nil
}

// Close closes the terminal.
func (t *TTY) Close() error { return t.file.Close() }

// Ask shows the question's label and reads the line that is typed after it. The end of the
// input is an empty line.
func (t *TTY) Ask(ctx context.Context, q Question) (Line, error) {
	if !inLines(t.file) {
		return Line{}, t.taken()
	}
	early, err := readable(t.file, 0)
	if err == nil {
		err = flushInput(t.file)
	}
	if err != nil {
		return Line{}, ErrNobody
	}
	t.screen.Prompt(q.Label.Text)
	defer t.screen.PromptDone()
	return t.readLine(ctx, early)
}

// taken says that another program, such as a pager, has the keys: none of them may be an
// answer.
func (t *TTY) taken() error {
	t.screen.Trouble("another program has the terminal, such as a pager: the question cannot be asked")
	return ErrNobody
}

// readLine reads one line; early says that others came before the question. No read is left behind to take another program's line.
func (t *TTY) readLine(ctx context.Context, early bool) (Line, error) {
	for {
		ready, err := readable(t.file, 100*time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return Line{}, context.Cause(ctx)
		case err != nil:
			return Line{}, ErrNobody
		case !ready:
			continue
		case !inLines(t.file):
			return Line{}, t.taken()
		}
		buf := make([]byte, 4096) // a terminal gives a line at a time, at most this long
		n, err := t.file.Read(buf)
		line, rest, whole := bytes.Cut(buf[:n], []byte("\n"))
		if err != nil || !whole { // Ctrl-D: no Enter was pressed
			return Line{}, nil
		}
		// No user types a second line within this time: the rest was pasted.
		more, err := readable(t.file, 20*time.Millisecond)
		return Line{Text: string(line), Burst: len(rest) > 0 || more || err != nil, Early: early}, nil
	}
}
