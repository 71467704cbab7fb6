package prompt

import (
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// outputChunk is how many bytes are written at once: the rest of a text can be thrown away.
	outputChunk = 256
	// outputBlocked is from when on a write is held up by a slow line.
	outputBlocked = 50 * time.Millisecond
	// outputSlow is how long after such a write the line still holds some of it.
	outputSlow = 30 * time.Second
)

// Output writes to a terminal, and throws away text that a slow line has not shown yet when the user
// interrupts. One goroutine writes at a time; any may discard.
type Output struct {
	out      io.Writer
	flush    func() error // throws away the system's buffer; may be nil
	waiting  func() int   // how many bytes it holds, 0 where it does not tell; may be nil
	reset    string
	now      func() time.Time
	throttle *throttle // used by writers
	// pace stands in its place for a terminal far away; it is nil for another.
	pace *pace

	mu      sync.Mutex
	since   time.Time // since when a chunk is written or waits to be; zero between chunks
	slow    time.Time // when a chunk was last held up
	cut     bool      // the rest of the text being written is void
	restart bool      // the next text begins a row of its own
}

// NewOutput makes an Output. reset is written after text was thrown away: a row, a style or a
// sequence may have been open. far says that the terminal is at the other end of an ssh connection.
func NewOutput(out io.Writer, reset string, far bool) *Output {
	o := &Output{out: out, reset: reset, now: time.Now}
	if far {
		o.pace = newPace()
	}
	o.flush, o.waiting = terminalQueue(out)
	o.throttle = newThrottle(newReadWatcher(out), o.now)
	return o
}

// Write implements io.Writer. Text thrown away counts as written.
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
		n, err := o.piece(p[written:])
		if n == 0 && err == nil {
			continue
		}
		written += n
		o.done(written == len(p))
		if err != nil {
			return written, err
		}
	}
	return len(p), nil
}

// piece writes as much of a text as there is room for.
func (o *Output) piece(text []byte) (int, error) {
	if o.pace != nil {
		room, query := o.pace.next(text)
		if room == 0 {
			return 0, nil
		}
		n, err := o.out.Write(append(slices.Clip(text[:room]), query...))
		return min(n, room), err
	}
	room := o.throttle.room(min(outputChunk, len(text)))
	if room == 0 {
		return 0, nil
	}
	began := o.now()
	n, err := o.out.Write(text[:room])
	o.throttle.wrote(n, o.now().Sub(began))
	return n, err
}

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

// Discard throws away text that a slow terminal has not taken yet, and reports whether it is one.
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
	o.pace.forget()
	if o.flush == nil {
		return true, nil
	}
	return true, o.flush()
}

const (
	// throttleFirst is how many bytes may be unread by a terminal that was not seen to be fast.
	throttleFirst = 320
	// throttleOpen is the window from which on nothing is waited for: a pseudo terminal holds
	// it.
	throttleOpen = 20480
	// throttleSpan is how long a terminal may take to read a whole window.
	throttleSpan = 350 * time.Millisecond
	// throttleSure is how often in turn a terminal is quick before the window grows.
	throttleSure = 2
	// throttleLeft is how many bytes may still be unread when Linux says that a terminal has
	// read (TTY_THRESHOLD_UNTHROTTLE in its drivers/tty/n_tty.c).
	throttleLeft = 128
	// throttleProbe is how many bytes are written into a full window after throttleAgain, and
	// then after twice as long each time, throttleProbes times (2.55 s in all): a terminal that
	// reads while a write is ending cannot be told from the end of the write.
	throttleProbe, throttleProbes = 16, 7
	throttleAgain                 = 10 * time.Millisecond
	// throttleSlice is how long one wait lasts: an interrupt is heeded after it.
	throttleSlice = 20 * time.Millisecond
)

// readWatcher tells whether a terminal reads its output.
type readWatcher interface {
	// drained waits at most so long until the terminal has read nearly all, and says whether it
	// has since it was asked last.
	drained(time.Duration) bool
	// works finds out whether this system tells at all.
	works() bool
}

// throttle keeps little unread by a terminal that reads slowly, so that little stands before
// the prompt after an interrupt. The window grows while the terminal is seen to be fast. One
// goroutine uses it at a time.
type throttle struct {
	reads readWatcher // nil where the system tells nothing
	now   func() time.Time

	window int
	unread int       // bytes written since the terminal was last seen to have read all
	first  time.Time // when the first of them was written
	full   time.Time // since when they fill the window; zero while they do not
	probes int       // since then
	quick  int       // how often in turn the terminal was quicker than the window needs
	proved bool      // the system was seen to tell when a terminal reads
}

func newThrottle(reads readWatcher, now func() time.Time) *throttle {
	return &throttle{reads: reads, now: now, window: throttleFirst}
}

// room is how many of n bytes may be written now; 0 after a short wait asks to be asked again.
func (t *throttle) room(n int) int {
	if t.reads == nil || t.window >= throttleOpen {
		return n
	}
	if t.unread > 0 && t.reads.drained(0) {
		t.read()
	}
	if t.full.IsZero() {
		if t.unread < t.window {
			return min(n, t.window-t.unread)
		}
		t.full, t.probes = t.now(), 0
	}
	due := t.full.Add(throttleAgain<<(t.probes+1) - throttleAgain).Sub(t.now())
	if due > 0 {
		if t.reads.drained(min(due, throttleSlice)) {
			t.read()
		}
		return 0
	}
	if !t.proved && t.probes == 1 {
		if t.proved = t.reads.works(); !t.proved {
			t.reads = nil
			return n
		}
	}
	if t.probes++; t.probes > throttleProbes { // a terminal that stands still fills by and by
		t.unread, t.full = 0, time.Time{}
		return 0
	}
	return min(n, throttleProbe)
}

// read notes that the terminal has read all output. One quick time is not believed.
func (t *throttle) read() {
	unread, full := t.unread, !t.full.IsZero()
	t.unread, t.full = 0, time.Time{}
	if unread <= throttleLeft {
		return
	}
	took := max(t.now().Sub(t.first), time.Microsecond)
	switch window := int(int64(unread-throttleLeft) * int64(throttleSpan) / int64(took)); {
	case window > t.window:
		if t.quick++; t.quick >= throttleSure {
			t.window = min(window, 2*t.window)
		}
	case full:
		t.window, t.quick = max(window, throttleFirst), 0
	}
}

func (t *throttle) wrote(n int, took time.Duration) {
	if t.reads == nil {
		return
	}
	if t.window >= throttleOpen {
		if took < outputBlocked {
			return
		}
		t.window, t.unread, t.quick = throttleFirst, 0, 0
	}
	if t.unread == 0 {
		t.first = t.now()
	}
	t.unread += n
	t.reads.drained(0) // the end of a write tells as if the terminal had read
}
