package ui

import (
	"io"
	"sync"
	"time"
)

const (
	// outputChunk is how many bytes are written at once: what is left of a text
	// can be thrown away between two of them.
	outputChunk = 256
	// outputBlocked is from when on a write is held up by a slow line.
	outputBlocked = 50 * time.Millisecond
	// outputSlow is how long after such a write the line still holds some of it:
	// the 20 KB of a pseudo terminal at 700 bytes a second.
	outputSlow = 30 * time.Second
)

// Output writes to a terminal, and throws away what a slow line has not shown
// yet when the user interrupts. One goroutine writes at a time; any may discard.
type Output struct {
	out     io.Writer
	flush   func() error // throws away what the system holds; may be nil
	waiting func() int   // how many bytes it holds, 0 where it does not tell; may be nil
	reset   string
	now     func() time.Time
	pace    *pace // used by who writes; may be nil

	mu      sync.Mutex
	since   time.Time // since when a chunk is written or waits to be; zero between chunks
	slow    time.Time // when a chunk was last held up
	cut     bool      // the rest of the text being written is void
	restart bool      // what is written next begins a row of its own
}

// NewOutput makes an Output. reset is written after text was thrown away, within
// which a row, a style or a sequence may have been open.
func NewOutput(out io.Writer, reset string) *Output {
	o := &Output{out: out, reset: reset, now: time.Now}
	o.flush, o.waiting = terminalQueue(out)
	if d := newDrain(out); d != nil {
		o.pace = newPace(d, o.now)
	}
	return o
}

// Write implements io.Writer. What is thrown away counts as written.
func (o *Output) Write(p []byte) (int, error) {
	for written := 0; written < len(p); {
		lead, void := o.start()
		if void {
			break
		}
		if lead != "" {
			if _, err := io.WriteString(o.out, lead); err != nil {
				return written, err
			}
		}
		room := o.pace.room(min(outputChunk, len(p)-written))
		if room == 0 {
			continue
		}
		began := o.now()
		n, err := o.out.Write(p[written : written+room])
		written += n
		o.pace.wrote(n, o.now().Sub(began))
		o.done(written == len(p))
		if err != nil {
			return written, err
		}
	}
	return len(p), nil
}

// start begins a chunk, unless its text is void; lead is to be written before it.
func (o *Output) start() (lead string, void bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.cut {
		o.cut, o.since = false, time.Time{}
		return "", true
	}
	if o.restart {
		o.restart, lead = false, o.reset
	}
	if o.since.IsZero() {
		o.since = o.now()
	}
	return lead, false
}

// done ends a chunk; the last one of a text leaves nothing to be thrown away.
func (o *Output) done(last bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now := o.now(); now.Sub(o.since) >= outputBlocked {
		o.slow = now
	}
	if o.since = (time.Time{}); last {
		o.cut = false
	}
}

// Discard throws away what the terminal has not taken yet, and says so, if it is a
// slow one: on others nothing waits.
func (o *Output) Discard() (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	blocked := !o.since.IsZero() && now.Sub(o.since) >= outputBlocked
	recent := !o.slow.IsZero() && now.Sub(o.slow) < outputSlow
	if !blocked && !recent && (o.waiting == nil || o.waiting() <= outputChunk) {
		return false, nil
	}
	o.cut, o.restart = !o.since.IsZero(), true
	if o.flush == nil {
		return true, nil
	}
	return true, o.flush()
}
