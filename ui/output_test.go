//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slowLine takes so many bytes a second once its buffer is full, as a terminal
// does. What is flushed is never shown.
type slowLine struct {
	rate, room int
	held       []byte // taken and not shown yet
	shown      bytes.Buffer
	free       chan struct{} // there may be room
}

func newSlowLine(rate, room int) *slowLine {
	return &slowLine{rate: rate, room: room, free: make(chan struct{}, 1)}
}

func (l *slowLine) Write(p []byte) (int, error) {
	l.held = append(l.held, p...)
	for len(l.held) > l.room {
		select {
		case <-l.free:
		case <-time.After(time.Second):
			l.show()
		}
	}
	return len(p), nil
}

func (l *slowLine) show() {
	n := min(l.rate, len(l.held))
	l.shown.Write(l.held[:n])
	l.held = l.held[n:]
}

func (l *slowLine) flush() error {
	l.held = nil
	l.free <- struct{}{}
	return nil
}

// Red: let Discard return before it sets cut.
func TestAnInterruptThrowsAwayWhatASlowLineHasNotShown(t *testing.T) {
	for _, rate := range []int{960, 300} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line := newSlowLine(rate, 20480)
				o := NewOutput(line, "<reset>\n")
				o.flush = line.flush
				done := make(chan struct{})
				go func() {
					defer close(done)
					if n, err := o.Write(bytes.Repeat([]byte("x"), 100_000)); n != 100_000 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}()
				time.Sleep(5*time.Second + time.Millisecond)
				synctest.Wait()
				if err := o.Discard(); err != nil {
					t.Fatal(err)
				}
				<-done
				if _, err := o.Write([]byte("you: ")); err != nil {
					t.Fatal(err)
				}
				// The chunk that was being written may still come.
				if left := len(line.held); left > outputChunk+len("<reset>\nyou: ") {
					t.Errorf("%d bytes stand before the prompt", left)
				}
				if !strings.HasSuffix(string(line.held), "<reset>\nyou: ") {
					t.Errorf("%q", line.held)
				}
			})
		})
	}
}

func TestAnInterruptThrowsNothingAwayOnAFastLine(t *testing.T) {
	var out bytes.Buffer
	o := NewOutput(&out, "<reset>")
	o.flush = func() error { t.Error("flushed"); return nil }
	for range 3 {
		if _, err := o.Write([]byte(strings.Repeat("y", 1000))); err != nil {
			t.Fatal(err)
		}
		if err := o.Discard(); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != strings.Repeat("y", 3000) {
		t.Errorf("%d bytes came", out.Len())
	}
}
