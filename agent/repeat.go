package agent

import (
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"time"
)

// Repeats of one call with one result: of a failing call the model is told at the
// first number, and the turn ends at the second. Of one that does what it should
// the model is told once.
const (
	tellRepeats = 3
	stopRepeats = 6
	tellSame    = 5
)

// A call that takes so long, or is made again after so long, waits for something.
const (
	waitsItself  = time.Second
	waitsBetween = 20 * time.Second
)

// repeat is a call that was made before in this turn.
type repeat struct {
	result   [sha256.Size]byte
	failed   bool
	times    int // in a row with this result
	last     time.Time
	notified bool // the model was
}

// repeats are a turn's calls by name and input.
type repeats map[string]*repeat

func (p *pending) key() string { return p.call.Name + "\x00" + string(p.call.Input) + p.call.Raw }

// sumOf is the checksum of a text, which is not copied for it: it may be very long.
func sumOf(text string) (sum [sha256.Size]byte) {
	h := sha256.New()
	// It cannot fail. What is hidden would copy the text.
	_, _ = io.Copy(h, struct{ io.Reader }{strings.NewReader(text)})
	h.Sum(sum[:0])
	return sum
}

// count counts a call that ended, and returns what the model must hear of it. A
// change by another call starts the count anew: running a test again after an edit
// is no repeat, and neither is a call that says something else each time.
func (r repeats) count(p *pending) string {
	if p.outcome.Status == CallInterrupted {
		return ""
	}
	key, failed, result := p.key(), p.outcome.Status != CallOK, sumOf(p.outcome.Text)
	if !failed && !p.reads {
		for other := range r {
			if other != key {
				delete(r, other)
			}
		}
	}
	this := r[key]
	if this == nil || this.failed != failed || this.result != result {
		this = &repeat{result: result, failed: failed}
		r[key] = this
	}
	this.times++
	waits := p.outcome.Duration >= waitsItself.Seconds() || this.times > 1 && time.Since(this.last) >= waitsBetween
	this.last = time.Now()
	switch {
	case !failed && this.times >= tellSame && !this.notified:
		this.notified = true
		return fmt.Sprintf(
			"This very call has now given the same result %d times. It says nothing new until something changes.",
			this.times)
	case failed && waits && this.times >= tellRepeats:
		n := this.times
		this.times = tellRepeats - 1 // it may be waiting for something: that ends by itself
		if this.notified {
			return ""
		}
		this.notified = true
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"If you are waiting for something, look whether it can still come.", n)
	case failed && this.times >= tellRepeats:
		return fmt.Sprintf("This very call has now failed %d times with the same result. "+
			"Do something else, or say what is in the way; to wait for something, put a sleep before the call.", this.times)
	}
	return ""
}

// over is the error of a turn in which the model repeats itself and fails.
func (r repeats) over(batch []*pending) error {
	for _, p := range batch {
		if this := r[p.key()]; this != nil && this.failed && this.times >= stopRepeats {
			return capFailure(
				fmt.Sprintf("the model made the same call of %s %d times in a row, and it failed in the same way each time",
					p.call.Name, stopRepeats), "another message that says what to do instead")
		}
	}
	return nil
}
