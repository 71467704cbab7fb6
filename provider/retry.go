package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// The delays are those of the vendors' SDKs: 0.5 s, doubled up to 8 s, less up to a quarter.
const (
	retryTries = 5
	retryTime  = 2 * time.Minute
	retryFirst = 500 * time.Millisecond
	retryMost  = 8 * time.Second
	retrySpare = 0.25
	// A server that is not there rarely comes up while one waits.
	absentTries = 3
	absentTime  = 5 * time.Second
)

// Retrier is a Provider that repeats a request that failed temporarily (Error.Temporary).
// It yields a Retry before each wait, counts tries, and adds the usage of failed tries. It
// waits as long as the server asks, at least its own backoff, and gives up beyond MaxTime.
// A Done is repeated only once, if in doubt. When ctx is done, the error is KindCanceled
// and wraps ctx's.
type Retrier struct {
	Provider Provider
	// MaxTime limits all waits of one request; 0 means two minutes, less than 0 no retries.
	MaxTime time.Duration
	// Tries limits the tries of one request, the first included; 0 means five.
	Tries int
	// NewKey is asked once after a 401 whether there is another key than when the request
	// began; then it is sent again. nil means never.
	NewKey func(ctx context.Context, since time.Time) bool
	// Rand returns numbers in [0,1), from any goroutine; nil means math/rand.
	Rand func() float64

	// twice holds the doubts that a second try did not remove: they are no reason to ask again.
	twice sync.Map
}

// Stream implements Provider.
func (r *Retrier) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		s := retrying{Retrier: r, req: req}
		for s.try(ctx, yield) {
		}
	}
}

// Structures implements Structurer by the Provider's.
func (r *Retrier) Structures(req Request) bool {
	s, ok := r.Provider.(Structurer)
	return ok && s.Structures(req)
}

type retrying struct {
	*Retrier
	req    Request
	n      int           // the current try, from 1
	waited time.Duration // so far
	used   Usage         // usage of the failed tries
	absent int           // tries in a row that found no server
	since  time.Time     // when the first of these began
	began  time.Time     // the current try
	asked  bool          // another key was requested
	doubt  string        // why an earlier try was not taken
	came   came          // by the current try
	alike  bool          // the last two tries ended without their mark at the same place
}

// came is what a try brought of a reply.
type came struct {
	said    string // text and reasoning
	calls   int    // their bytes
	missing string // see Error.Missing
}

// try sends the request once, and waits if it may be sent again.
func (s *retrying) try(ctx context.Context, yield func(Event, error) bool) (again bool) {
	s.n++
	s.began = time.Now()
	if s.absent == 0 {
		s.since = s.began
	}
	shown, part, err := s.pass(ctx, s.req, yield)
	if err == nil {
		return false
	}
	last := describe(err)
	s.used = s.used.Add(last.Usage)
	before := s.came
	s.came = part
	s.came.missing = last.Missing
	s.alike = last.Missing != "" && (part.said != "" || part.calls > 0) && s.came == before
	if ctx.Err() != nil {
		yield(nil, s.canceled(ctx, last))
		return false
	}
	next, ok := s.plan(last)
	if !ok {
		next, ok = s.withNewKey(ctx, last)
	}
	if !ok {
		yield(nil, s.final(last))
		return false
	}
	next.Discard = shown
	next.Lower = func(maxTokens int) { s.req.MaxTokens = maxTokens }
	if !yield(next, nil) {
		return false
	}
	s.waited += next.Wait
	if Sleep(ctx, next.Wait) != nil {
		yield(nil, s.canceled(ctx, last))
		return false
	}
	return true
}

// pass yields the events of one try. It returns whether deltas were among them, the part that came, and its
// error; nil if the reply is complete or the caller stopped.
func (s *retrying) pass(ctx context.Context, req Request, yield func(Event, error) bool) (
	shown bool, part came, failed error,
) {
	var said strings.Builder
	for e, err := range s.Provider.Stream(ctx, req) {
		if err != nil {
			part.said = said.String()
			return shown, part, err
		}
		switch done := e.(type) {
		case TextDelta:
			shown = true
			said.WriteString(done.Text)
		case ReasoningDelta:
			shown = true
			said.WriteString(done.Text)
		case CallDelta:
			part.calls += len(done.Tool) + done.Bytes
		case Done:
			if e := s.doubtful(done); e != nil {
				return shown, part, e
			}
			again := done.Doubt != "" && done.Doubt == s.doubt
			if text := done.Doubt + ": artoo uses the answer as it is"; again || done.Unread {
				if again {
					text = done.Doubt + ", also on the second try: artoo uses the answer as it is"
				}
				if !yield(Notice{Text: text, Warning: true}, nil) {
					return shown, part, nil
				}
			}
			done.Tries = s.n
			done.Usage = s.used.Add(done.Usage)
			yield(done, nil)
			return shown, part, nil
		}
		if !yield(e, nil) {
			return shown, part, nil
		}
	}
	return shown, part, &Error{Kind: KindNetwork, Provider: "provider", Message: "the reply ended early",
		Err: io.ErrUnexpectedEOF}
}

// doubtful makes an error of a reply that is worth another try, nil of any other.
func (s *retrying) doubtful(done Done) *Error {
	if done.Doubt == "" || s.MaxTime < 0 {
		return nil
	}
	if s.doubt != "" {
		if s.doubt == done.Doubt {
			s.twice.Store(done.Doubt, true)
		}
		return nil
	}
	if _, usual := s.twice.Load(done.Doubt); usual {
		return nil
	}
	s.doubt = done.Doubt
	e := &Error{Kind: KindProvider, Provider: done.Message.Provider, Message: done.Doubt, RequestID: done.RequestID,
		Usage: done.Usage}
	if _, ok := s.plan(e); !ok {
		return nil
	}
	return e
}

// describe finds the *Error, or makes one.
func describe(err error) *Error {
	if e := AsError(err); e != nil {
		return e
	}
	return &Error{Kind: KindProvider, Provider: "provider", Retry: new(false), Err: err}
}

// plan decides about a failed try; ok means to send again after next.Wait.
func (s *retrying) plan(e *Error) (next Retry, ok bool) {
	if !e.Temporary() || s.MaxTime < 0 || s.alike {
		return Retry{}, false
	}
	most := cmp.Or(max(s.Tries, 0), retryTries)
	delay := max(s.backoff(s.n), e.RetryAfter)
	if noServer(e) {
		s.absent++
		delay = s.backoff(s.absent)
		most = min(most, s.n-s.absent+absentTries)
		if time.Since(s.since)+delay > absentTime {
			return Retry{}, false
		}
	} else {
		s.absent = 0
	}
	if s.n >= most || s.waited+delay > s.maxTime() {
		return Retry{}, false
	}
	return Retry{Try: s.n + 1, Tries: most, Wait: delay, Err: e}, true
}

// withNewKey plans another try at once where a key ran out in the meantime.
func (s *retrying) withNewKey(ctx context.Context, e *Error) (next Retry, ok bool) {
	if e.Status != http.StatusUnauthorized || s.NewKey == nil || s.asked || s.MaxTime < 0 {
		return Retry{}, false
	}
	s.asked = true
	return Retry{Try: s.n + 1, Tries: s.n + 1, Err: e, NewKey: true}, s.NewKey(ctx, s.began)
}

func (s *retrying) backoff(n int) time.Duration {
	delay := min(retryFirst<<min(n-1, 8), retryMost)
	random := s.Rand
	if random == nil {
		random = rand.Float64
	}
	return delay - time.Duration(retrySpare*random()*float64(delay))
}

// final is the error that ends the request.
func (s *retrying) final(e *Error) *Error {
	out := *e
	out.Usage = s.used
	if s.n > 1 {
		out.Message = fmt.Sprintf("%s, after %d tries", strings.TrimRight(e.why(), " .\n"), s.n)
	}
	if s.alike {
		out.Kind, out.Message = KindProvider, "the reply ended without "+e.Missing+", twice at the same place"
		out.Hint = "have the server, or a gateway before it, end each reply with " + e.Missing + ", or -v to see the reply"
	}
	busy := e.Kind == KindRateLimit || e.Kind == KindOverloaded
	if e.RetryAfter > 0 && (busy || e.Temporary()) {
		if !busy && s.waited+e.RetryAfter > s.maxTime() {
			out.Kind = KindOverloaded // whatever failed, the server's word is "try later"
		}
		waits := ""
		if e.Kind == KindRateLimit && e.Temporary() {
			waits = " (--wait-limit waits)"
		}
		out.Hint = fmt.Sprintf("again in %s%s, or choose another model with --model", InWords(e.RetryAfter), waits)
	}
	return &out
}

// canceled is the error of a cancelled request. It wraps the context's error and cause.
func (s *retrying) canceled(ctx context.Context, last *Error) *Error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return &Error{
		Kind: KindCanceled, Provider: last.Provider, Message: "stopped", RequestID: last.RequestID, Local: last.Local,
		Usage: s.used, Keep: last.Keep, Err: err,
	}
}

func (s *retrying) maxTime() time.Duration {
	return cmp.Or(s.MaxTime, retryTime)
}

// noServer reports whether the request never reached one.
func noServer(err error) bool {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return true
	}
	dns, ok := errors.AsType[*net.DNSError](err)
	return ok && dns.IsNotFound
}

// Sleep waits for a time to pass. The error is ctx's, where that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// InWords writes a time to come back in, rounded up: "12 days", "2h10m", "5m", "40s".
func InWords(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d > 730*day:
		return fmt.Sprintf("%d years", d/(365*day))
	case d > 2*day:
		return fmt.Sprintf("%d days", roundUp(d, day)/day)
	case d >= time.Hour:
		d = roundUp(d, time.Minute)
		if m := int(d.Minutes()) % 60; m != 0 {
			return fmt.Sprintf("%dh%dm", int(d.Hours()), m)
		}
		return fmt.Sprintf("%dh", int(d.Hours()))
	case d > time.Minute:
		return fmt.Sprintf("%dm", int(roundUp(d, time.Minute).Minutes()))
	}
	return fmt.Sprintf("%ds", int(roundUp(d, time.Second).Seconds()))
}

func roundUp(d, unit time.Duration) time.Duration { return (d + unit - 1) / unit * unit }
