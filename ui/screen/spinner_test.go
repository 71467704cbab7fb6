//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/briandowns/spinner"
	"github.com/fatih/color"

	"artoo/ui/prompt/prompttest"
)

// watched keeps the written pieces.
type watched struct {
	mu     sync.Mutex
	pieces []string
	more   chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieces = append(w.pieces, string(p))
	select {
	case w.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

// await returns all pieces once so many were written.
func (w *watched) await(t *testing.T, n int) []string {
	t.Helper()
	late := time.After(10 * time.Second)
	for {
		w.mu.Lock()
		pieces := w.pieces
		w.mu.Unlock()
		if len(pieces) >= n {
			return pieces
		}
		select {
		case <-w.more:
		case <-late:
			t.Fatalf("%q", pieces)
		}
	}
}

// A Spinner runs while something goes on, and only then; its frames reach the terminal as
// changes of one line, without its colours.
func TestASpinnerRunsTheProgressLine(t *testing.T) {
	slave := coloredTerminal(t)
	out := &watched{more: make(chan struct{}, 1)}
	s := New(Options{Out: out, Err: out, OutTTY: true, ErrTTY: true, Profile: Rich, UTF8: true, Spin: func(sp *spinner.Spinner) func() {
		sp.WriterFile, sp.Delay = slave, time.Millisecond
		sp.Start()
		return sp.Stop
	}})
	s.OnToolCall(runCall("1", "make"))
	for i, piece := range out.await(t, 5) {
		whole := i == 0
		if strings.Contains(piece, "make") != whole || strings.Contains(piece, "\x1b") {
			t.Errorf("piece %d is %q", i, piece)
		}
	}
	s.mu.Lock()
	g := s.transcript.progress.gate
	s.mu.Unlock()
	s.OnToolResult(runCall("1", "make"), ok("exit 0"))
	s.Finish()
	after := len(out.await(t, 1))
	if _, err := g.Write([]byte("\r late -")); err != nil {
		t.Fatal(err)
	}
	if all := out.await(t, 1); len(all) != after {
		t.Errorf("it goes on with %q", all[after:])
	}
}

// The gate is there for this: a Spinner erases and writes a whole line for each frame, also
// where one character of it has changed, and colours the frame.
func TestASpinnerWritesWholeLines(t *testing.T) {
	slave := coloredTerminal(t)
	out := &watched{more: make(chan struct{}, 1)}
	sp := spinner.New([]string{"-", "+"}, time.Millisecond, spinner.WithWriter(out), spinner.WithHiddenCursor(false))
	sp.WriterFile, sp.Prefix = slave, "a long line "
	sp.Start()
	pieces := out.await(t, 4)
	sp.Stop()
	if got := strings.Join(pieces[:4], ""); strings.Count(got, "a long line ") != 2 || strings.Count(got, "\r\x1b[K") != 2 ||
		!bytes.Contains([]byte(got), []byte("\x1b[37m")) {
		t.Errorf("it draws only what has changed, or without colour: the gate may go: %q", got)
	}
}

// coloredTerminal is a terminal that the libraries color.
func coloredTerminal(t *testing.T) *os.File {
	t.Helper()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	color.NoColor = false
	t.Cleanup(func() {
		color.NoColor = true
		slave.Close()
		master.Close()
	})
	return slave
}
