package prompt

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// farTerminal shows so many bytes a second, each a while after it was written, and answers queries unless it is deaf.
type farTerminal struct {
	rate int
	trip time.Duration
	deaf bool
	pace *pace
	// ahead is the most that was on its way.
	ahead int

	mu      sync.Mutex
	way     []byte
	shown   []byte
	queries int
}

func newFarTerminal(t *testing.T, rate int, trip time.Duration) (*farTerminal, *Output) {
	f := &farTerminal{rate: rate, trip: trip}
	o := NewOutput(f, "<reset>\n", true)
	f.pace = o.pace
	f.pace.listen()
	if _, err := o.Write([]byte("you: go\n")); err != nil {
		t.Fatal(err)
	}
	go func() {
		const ticks = 100
		for tick := time.NewTicker(time.Second / ticks); ; {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
				f.show(ticks)
			}
		}
	}()
	return f, o
}

func (f *farTerminal) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.way = append(f.way, p...)
	f.ahead = max(f.ahead, len(f.way))
	return len(p), nil
}

// show shows what it shows in this part of a second.
func (f *farTerminal) show(part int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := min(f.rate/part, len(f.way))
	f.shown, f.way = append(f.shown, f.way[:n]...), f.way[n:]
	for at := bytes.Index(f.shown, []byte(statusQuery)); at >= 0; at = bytes.Index(f.shown, []byte(statusQuery)) {
		f.queries++
		f.shown = append(f.shown[:at], f.shown[at+len(statusQuery):]...)
		if !f.deaf {
			time.AfterFunc(f.trip, func() { f.pace.hear([]byte(statusAnswer)) })
		}
	}
}

// rows is a text of so many bytes, in rows.
func rows(n int) string {
	var text strings.Builder
	for text.Len() < n {
		fmt.Fprintf(&text, "%070d\n", text.Len())
	}
	return text.String()
}

func TestATerminalFarAwayIsLessThanASecondBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate int
		deaf bool
	}{{2000, false}, {960, false}, {300, false}, {2000, true}} {
		t.Run(fmt.Sprint(c.rate, c.deaf), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far, o := newFarTerminal(t, c.rate, 50*time.Millisecond)
				far.mu.Lock()
				far.deaf = c.deaf
				far.mu.Unlock()
				done := make(chan struct{})
				go func() {
					defer close(done)
					if n, err := o.Write([]byte(rows(100_000))); n < 100_000 || err != nil {
						t.Errorf("%d, %v", n, err)
					}
				}()
				time.Sleep(20 * time.Second)
				synctest.Wait()
				far.mu.Lock()
				far.ahead = 0
				shown := len(far.shown)
				far.mu.Unlock()
				time.Sleep(20 * time.Second)
				synctest.Wait()
				far.mu.Lock()
				if limit := max(c.rate, paceLeast); far.ahead > limit {
					t.Errorf("%d bytes were on their way", far.ahead)
				}
				if least := 20 * c.rate * 6 / 10; len(far.shown)-shown < least {
					t.Errorf("only %d bytes were shown, want %d", len(far.shown)-shown, least)
				}
				far.mu.Unlock()
				if slow, err := o.Discard(); !slow || err != nil {
					t.Errorf("%v, %v", slow, err)
				}
				<-done
				if _, err := o.Write([]byte("you: ")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if !bytes.HasSuffix(far.shown, []byte("<reset>\nyou: ")) {
					t.Errorf("%d bytes stand before the prompt", len(far.way))
				}
			})
		})
	}
}

func TestATerminalFarAwayGetsAllBytesSoon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		trip, limit time.Duration
	}{
		{time.Millisecond, 300 * time.Millisecond}, {100 * time.Millisecond, time.Second},
		{600 * time.Millisecond, 10 * time.Second},
	} {
		t.Run(fmt.Sprint(c.trip), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far, o := newFarTerminal(t, 10<<20, c.trip)
				text := rows(20_000)
				time.Sleep(2 * c.trip)
				began := time.Now()
				if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
					t.Errorf("%d, %v", n, err)
				}
				if took := time.Since(began); took > c.limit {
					t.Errorf("20,000 bytes took %v", took)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if string(far.shown) != "you: go\n"+text {
					t.Errorf("%d bytes came", len(far.shown))
				}
				if far.queries > 40 {
					t.Errorf("it was asked %d times", far.queries)
				}
			})
		})
	}
}

// A line that stands still for a while, as on a train, does not fill.
func TestALineThatStandsStillDoesNotFill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far, o := newFarTerminal(t, 100_000, 50*time.Millisecond)
		text := rows(100_000)
		if _, err := o.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		far.mu.Lock()
		far.rate, far.ahead = 0, 0
		far.mu.Unlock()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 500 {
				if _, err := o.Write([]byte("some words ")); err != nil {
					t.Error(err)
				}
				time.Sleep(20 * time.Millisecond)
			}
		}()
		time.Sleep(9 * time.Second)
		synctest.Wait()
		far.mu.Lock()
		if far.ahead > 8<<10 {
			t.Errorf("%d bytes were on their way", far.ahead)
		}
		far.rate = 100_000
		far.mu.Unlock()
		<-done
		time.Sleep(time.Second)
		synctest.Wait()
		if want := "you: go\n" + text + strings.Repeat("some words ", 500); string(far.shown) != want {
			t.Errorf("%d bytes came, want %d", len(far.shown), len(want))
		}
	})
}

// Before another program gets the terminal, the answer to the last query has come, and no query is sent meanwhile.
func TestNoAnswerComesToAnotherProgram(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		far, o := newFarTerminal(t, 1<<20, 300*time.Millisecond)
		if _, err := o.Write([]byte("some text\n")); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		again := far.pace.hush()
		if took := time.Since(began); took < 300*time.Millisecond || took > 400*time.Millisecond {
			t.Errorf("it waited %v", took)
		}
		if _, err := o.Write([]byte(rows(20_000))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if synctest.Wait(); far.queries != 1 {
			t.Errorf("%d queries", far.queries)
		}
		again()
		if _, err := o.Write([]byte(rows(2000))); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if synctest.Wait(); far.queries == 1 {
			t.Error("no query was sent")
		}
	})
}

func TestAnAnswerIsNoInput(t *testing.T) {
	t.Parallel()
	p := newPace()
	for in, want := range map[string]string{
		"a\x1b[0nb": "ab", "\x1b\x1b[0n": "\x1b", "\x1b[0n\x1b[0n": "", "\x1b[0": "\x1b[0", "\x1b[0n\x1b[A": "\x1b[A",
	} {
		if got := string(p.hear([]byte(in))); got != want {
			t.Errorf("%q leaves %q", in, got)
		}
	}
}
