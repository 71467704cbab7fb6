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
	return fmt.Sprintf("no byte for %s", e.after)
}

// Is makes a silence a deadline that passed.
func (e idleError) Is(target error) bool { return target == context.DeadlineExceeded }

// watchdog cancels a request that is silent for too long while somebody waits for a byte.
type watchdog struct {
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	limit time.Duration // 0 = no limit
	timer *time.Timer
	armed time.Time
	first bool // no byte has come yet
	on    bool
}

func newWatchdog(limit time.Duration, cancel context.CancelCauseFunc) *watchdog {
	return &watchdog{cancel: cancel, limit: limit, first: true}
}

// start begins the wait for the first byte, which may take twice as long as any later one.
func (w *watchdog) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit > 0 {
		w.arm(2 * w.limit)
	}
}

// wait is called before a read, got after it with the bytes it brought.
func (w *watchdog) wait() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.first && w.limit > 0 {
		w.arm(w.limit)
	}
}

func (w *watchdog) got(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		w.first = false
	}
	if !w.first && w.timer != nil {
		w.timer.Stop()
		w.on = false
	}
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.on = false
	if w.timer != nil {
		w.timer.Stop()
	}
}

func (w *watchdog) arm(d time.Duration) {
	w.armed, w.on = time.Now(), true
	if w.timer != nil {
		w.timer.Stop()
	}
	w.timer = time.AfterFunc(d, func() { w.fire(d) })
}

// fire ends the request, unless the process was stopped meanwhile (Ctrl-Z): then it waits again.
func (w *watchdog) fire(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return
	}
	if late := time.Since(w.armed) - d; late > time.Second {
		w.arm(d)
		return
	}
	idle := idleError{after: d}
	if w.first {
		idle.limit = w.limit
	}
	w.cancel(idle)
}

type watched struct {
	src      io.Reader
	watchdog *watchdog
}

func (r *watched) Read(p []byte) (int, error) {
	r.watchdog.wait()
	n, err := r.src.Read(p)
	r.watchdog.got(n)
	return n, err
}
