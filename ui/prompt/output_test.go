package prompt

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowLine is a pseudo terminal of Linux whose other end reads so many bytes a
// second. A flush keeps the bytes that the other end could read already. With mute it
// does not report its reads.
type slowLine struct {
	rate int
	mute bool

	mu    sync.Mutex
	held  []byte // written and not read yet
	shown []byte
	told  bool          // has read nearly all since it was asked last
	read  chan struct{} // there may be room
}

func newSlowLine(ctx context.Context, rate int) *slowLine {
	l := &slowLine{rate: rate, read: make(chan struct{}, 1)}
	go func() {
		for tick := time.NewTicker(time.Second / 20); ; {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			l.mu.Lock()
			n := min(l.rate/20, len(l.held))
			l.shown, l.held = append(l.shown, l.held[:n]...), l.held[n:]
			l.told = l.told || n > 0 && len(l.held) <= throttleLeft
			l.mu.Unlock()
			select {
			case l.read <- struct{}{}:
			default:
			}
		}
	}()
	return l
}

func (l *slowLine) Write(p []byte) (int, error) {
	for {
		l.mu.Lock()
		if len(l.held)+len(p) <= 20480 {
			l.held, l.told = append(l.held, p...), true
			l.mu.Unlock()
			return len(p), nil
		}
		l.mu.Unlock()
		<-l.read
	}
}

func (l *slowLine) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = l.held[:min(4095, len(l.held))]
	return nil
}

func (l *slowLine) drained(wait time.Duration) bool {
	for end := time.After(wait); ; {
		l.mu.Lock()
		told := l.told && !l.mute
		l.told = false
		l.mu.Unlock()
		if told || wait == 0 {
			return told
		}
		select {
		case <-end:
			return false
		case <-l.read:
		}
	}
}

func (l *slowLine) works() bool { return !l.mute }

func (l *slowLine) output() *Output {
	o := NewOutput(l, "<reset>\n", false)
	o.flush, o.throttle = l.flush, newThrottle(l, o.now)
	return o
}

func TestLittleStandsBeforeThePromptAfterAnInterruptOnASlowLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rate, bytes int }{{960, 960}, {300, 900}, {110, 600}} {
		t.Run(fmt.Sprint(c.rate), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				line := newSlowLine(t.Context(), c.rate)
				o := line.output()
				done := make(chan struct{})
				go func() {
					defer close(done)
					if n, err := o.Write(bytes.Repeat([]byte("x"), 100_000)); n != 100_000 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}()
				time.Sleep(5*time.Second + time.Millisecond)
				synctest.Wait()
				if _, err := o.Discard(); err != nil {
					t.Fatal(err)
				}
				<-done
				stand := len(line.held)
				if _, err := o.Write([]byte("you: ")); err != nil {
					t.Fatal(err)
				}
				if stand += len("<reset>\nyou: "); stand > c.bytes {
					t.Errorf("%d bytes stand before the prompt", stand)
				}
				if !strings.HasSuffix(string(line.held), "<reset>\nyou: ") {
					t.Errorf("%q", line.held)
				}
			})
		})
	}
}

// A line that reports nothing is filled as far as it goes, and shows all bytes in
// the end.
func TestALineThatTellsNothingIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newSlowLine(t.Context(), 960)
		line.mute = true
		o, text := line.output(), strings.Repeat("0123456789", 1500)
		began := time.Now()
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 50*time.Millisecond {
			t.Errorf("15,000 bytes took %v", took)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if string(line.shown) != text {
			t.Errorf("%d bytes came", len(line.shown))
		}
	})
}

func TestALineThatStandsStillForAWhileGetsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := newSlowLine(t.Context(), 0)
		o, text := line.output(), strings.Repeat("0123456789", 500)
		go func() {
			time.Sleep(10 * time.Second)
			line.mu.Lock()
			line.rate = 9600
			line.mu.Unlock()
		}()
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if string(line.shown) != text {
			t.Errorf("%d bytes came", len(line.shown))
		}
	})
}

func TestAnInterruptThrowsNothingAwayOnAFastLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	o := NewOutput(&out, "<reset>", false)
	o.flush = func() error { t.Error("flushed"); return nil }
	for range 3 {
		if _, err := o.Write([]byte(strings.Repeat("y", 1000))); err != nil {
			t.Fatal(err)
		}
		if _, err := o.Discard(); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != strings.Repeat("y", 3000) {
		t.Errorf("%d bytes came", out.Len())
	}
}
