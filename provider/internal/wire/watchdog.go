package wire

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"
)

// idleError is the cause of a request that was given up after a silence.
type idleError struct {
	after time.Duration
	limit time.Duration // limit for later bytes if the first did not come; else 0
}

// Error says how long the silence was.
func (e idleError) Error() string {
	if e.limit > 0 {
		return fmt.Sprintf("no first byte for %s, twice the idle limit of %s", e.after, e.limit)
	}
	return fmt.Sprintf("no data for %s", e.after)
}

// Is makes a silence a deadline that passed.
func (e idleError) Is(target error) bool { return target == context.DeadlineExceeded }

// watchdog is a body that cancels its request when it is silent for too long while its reader waits.
type watchdog struct {
	io.Reader               // the body, once it has begun
	limit     time.Duration // 0 = no limit
	cancel    context.CancelCauseFunc
	begun     bool // a byte has come

	mu    sync.Mutex
	timer *time.Timer // nil without a waiting reader
}

// wait begins a wait of at most d for the next byte, in place of the one before; 0 ends it.
func (w *watchdog) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.arm(d)
}

func (w *watchdog) arm(d time.Duration) {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
	if d == 0 {
		return
	}
	armed, idle := time.Now(), idleError{after: d}
	if d > w.limit {
		idle.limit = w.limit
	}
	var own *time.Timer
	own = time.AfterFunc(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.timer != own: // a byte came meanwhile
		case time.Since(armed)-d > time.Second: // the process was stopped (Ctrl-Z)
			w.arm(d)
		default:
			w.cancel(idle)
		}
	})
	w.timer = own
}

// Read implements io.Reader. The wait for the first byte goes on from call to call: it began with
// the request, and may take twice as long.
func (w *watchdog) Read(p []byte) (int, error) {
	if w.begun {
		w.wait(w.limit)
	}
	n, err := w.Reader.Read(p)
	if w.begun = w.begun || n > 0; w.begun {
		w.wait(0)
	}
	return n, err
}
