package screen

import (
	"io"
	"sync/atomic"
	"time"
)

// sink is the only place that writes. Text of an answer waits here for a moment
// on a terminal, so that a fast model does not mean thousands of writes.
type sink struct {
	out, err       io.Writer
	broken         func(error)
	outBad, errBad error       // the first write that failed; nothing more is written
	pending        []byte      // for out
	void           atomic.Bool // what is pending is not to be written; set on any goroutine
	flushed        time.Time
}

// interval is the least time between two writes of new answer text: twenty a
// second look continuous and suit slow links.
const interval = 50 * time.Millisecond

// flush writes what waits.
func (k *sink) flush(now time.Time) {
	if k.void.Swap(false) {
		k.pending = k.pending[:0]
	}
	if len(k.pending) == 0 {
		return
	}
	k.write(k.out, &k.outBad, k.pending)
	k.pending = k.pending[:0]
	k.flushed = now
}

// chrome writes to err, after everything that waits.
func (k *sink) chrome(now time.Time, s string) {
	k.flush(now)
	k.write(k.err, &k.errBad, []byte(s))
}

func (k *sink) write(w io.Writer, bad *error, p []byte) {
	if *bad != nil || len(p) == 0 {
		return
	}
	if _, err := w.Write(p); err != nil {
		if *bad = err; k.broken != nil {
			go k.broken(err)
			k.broken = nil
		}
	}
}

// DropPending throws away the text of an answer that waits to be written to a
// terminal. It waits for nothing, and may be called while the screen is held up
// by a slow terminal. On an Out that is none all is written.
func (s *Screen) DropPending() {
	if s.opt.OutTTY {
		s.sink.void.Store(true)
	}
}

// Err is the first error of writing to Out, nil as long as all went well. What
// waits on a terminal is not written yet: call it after Finish to be sure.
func (s *Screen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sink.outBad
}

// ErrChrome is the first error of writing to Err, nil as long as all went well.
func (s *Screen) ErrChrome() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sink.errBad
}
