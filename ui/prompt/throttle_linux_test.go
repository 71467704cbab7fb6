package prompt

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/term"

	"artoo/ui/prompt/prompttest"
)

// openOutput gives an Output to a pseudo terminal and the end that reads it.
func openOutput(t *testing.T) (*Output, *os.File) {
	t.Helper()
	master, slave, err := prompttest.OpenPTY()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = master.Close(), slave.Close() })
	if _, err := term.MakeRaw(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	return NewOutput(slave, "<reset>\n", false), master
}

// slowReader reads so many bytes a second.
type slowReader struct {
	io.Reader
	rate  int
	since time.Time
	count int // since then
	tick  *time.Ticker
}

func newSlowReader(t *testing.T, r io.Reader, rate int) *slowReader {
	s := &slowReader{Reader: r, rate: rate, since: time.Now(), tick: time.NewTicker(20 * time.Millisecond)}
	t.Cleanup(s.tick.Stop)
	return s
}

func (s *slowReader) Read(p []byte) (int, error) {
	for {
		if due := int(time.Since(s.since).Seconds()*float64(s.rate)) - s.count; due > 0 {
			n, err := s.Reader.Read(p[:min(len(p), due)])
			s.count += n
			return n, err
		}
		<-s.tick.C
	}
}

func TestThePromptComesSoonAfterAnInterruptOnASlowPseudoTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, bytes int }{{960, 960}, {300, 900}} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			t.Parallel()
			o, master := openOutput(t)
			reader := newSlowReader(t, master, c.rate)
			done := make(chan error, 1)
			go func() {
				_, err := o.Write(bytes.Repeat([]byte("x"), 100_000))
				done <- err
			}()
			if _, err := io.ReadFull(reader, make([]byte, 500)); err != nil {
				t.Fatal(err)
			}
			if _, err := o.Discard(); err != nil {
				t.Fatal(err)
			}
			go func() {
				err := <-done
				if err == nil {
					_, err = o.Write([]byte("you: "))
				}
				done <- err
			}()
			var read []byte
			for b := make([]byte, 64); !bytes.HasSuffix(read, []byte("<reset>\nyou: ")); {
				n, err := reader.Read(b)
				if read = append(read, b[:n]...); err != nil {
					t.Fatal(err)
				}
			}
			if len(read) > c.bytes {
				t.Errorf("%d bytes stand before the prompt", len(read))
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestEveryTerminalGetsAllThatIsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, bytes int }{{960, 1500}, {9600, 12_000}, {1 << 30, 4 << 20}} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			t.Parallel()
			o, master := openOutput(t)
			var text strings.Builder
			for text.Len() < c.bytes {
				fmt.Fprintf(&text, "%d ", text.Len())
			}
			done := make(chan error, 1)
			go func() {
				_, err := io.WriteString(o, text.String())
				done <- err
			}()
			got := make([]byte, text.Len())
			if _, err := io.ReadFull(newSlowReader(t, master, c.rate), got); err != nil {
				t.Fatal(err)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			if string(got) != text.String() {
				t.Error("other bytes came than were written")
			}
			if open := o.throttle.window >= throttleOpen; open != (c.rate > 1<<20) {
				t.Errorf("the window is %d", o.throttle.window)
			}
		})
	}
}

func TestLinuxTellsWhatATerminalHasRead(t *testing.T) {
	t.Parallel()
	o, _ := openOutput(t)
	if !o.throttle.reads.works() {
		t.Error("nothing was told")
	}
}
