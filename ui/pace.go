package ui

import "time"

const (
	// paceFirst is how many bytes may be unread by a terminal that was not seen to
	// be a fast one: a third of a second at 960 bytes a second.
	paceFirst = 320
	// paceOpen is the window from which on nothing is waited for: as much as a
	// pseudo terminal of Linux holds.
	paceOpen = 20480
	// paceSpan is how long a terminal may take to read a whole window.
	paceSpan = 350 * time.Millisecond
	// paceSure is how often in turn a terminal is quick before the window grows.
	paceSure = 2
	// paceLeft is how many bytes may still be unread when Linux tells that a
	// terminal has read (TTY_THRESHOLD_UNTHROTTLE in its drivers/tty/n_tty.c).
	paceLeft = 128
	// paceProbe is how many bytes are written into a full window after paceAgain,
	// and then after twice as long each time, paceProbes times: a terminal that
	// reads while a write is ending cannot be told from the end of the write. With
	// the last wait this takes 2.55 s.
	paceProbe, paceProbes = 16, 7
	paceAgain             = 10 * time.Millisecond
	// paceSlice is how long one wait lasts: an interrupt is heeded after it.
	paceSlice = 20 * time.Millisecond
)

// drain tells whether a terminal reads what is written to it.
type drain interface {
	// drained waits at most so long until the terminal has read nearly all, and
	// says whether it did since it was asked last.
	drained(time.Duration) bool
	// works finds out whether this system tells at all, in a few ms.
	works() bool
}

// pace keeps little unread by a terminal that reads slowly, so that little stands
// before the prompt after an interrupt. The window grows as quickly as the
// terminal shows that it is a fast one. A nil pace waits for nothing. It is used
// by one goroutine at a time.
type pace struct {
	drain drain // nil where the system tells nothing
	now   func() time.Time

	window int
	unread int       // bytes written since the terminal was last seen to have read all
	first  time.Time // when the first of them was written
	full   time.Time // since when they fill the window; zero while they do not
	probes int       // since then
	quick  int       // how often in turn the terminal was quicker than the window needs
	proved bool      // the system was seen to tell what a terminal reads
}

func newPace(d drain, now func() time.Time) *pace {
	return &pace{drain: d, now: now, window: paceFirst}
}

// room is how many of n bytes may be written now. Where it has to wait it does so
// for a short time and gives 0, to be asked again.
func (p *pace) room(n int) int {
	if p == nil || p.drain == nil || p.window >= paceOpen {
		return n
	}
	if p.unread > 0 && p.drain.drained(0) {
		p.read()
	}
	if p.full.IsZero() {
		if p.unread < p.window {
			return min(n, p.window-p.unread)
		}
		p.full, p.probes = p.now(), 0
	}
	due := p.full.Add(paceAgain<<(p.probes+1) - paceAgain).Sub(p.now())
	if due > 0 {
		if p.drain.drained(min(due, paceSlice)) {
			p.read()
		}
		return 0
	}
	if !p.proved && p.probes == 1 {
		if p.proved = p.drain.works(); !p.proved {
			p.drain = nil
			return n
		}
	}
	if p.probes++; p.probes > paceProbes { // a terminal that stands still fills by and by
		p.unread, p.full = 0, time.Time{}
		return 0
	}
	return min(n, paceProbe)
}

// read notes that the terminal has read what was written. Whoever waited for a
// full window knows how fast it is; who did not knows how slow it is not. One
// quick time is not believed: some of it may have been on its way.
func (p *pace) read() {
	unread, full := p.unread, !p.full.IsZero()
	p.unread, p.full = 0, time.Time{}
	if unread <= paceLeft {
		return
	}
	took := max(p.now().Sub(p.first), time.Microsecond)
	switch window := int(int64(unread-paceLeft) * int64(paceSpan) / int64(took)); {
	case window > p.window:
		if p.quick++; p.quick >= paceSure {
			p.window = min(window, 2*p.window)
		}
	case full:
		p.window, p.quick = max(window, paceFirst), 0
	}
}

// wrote counts n bytes, which were written within took.
func (p *pace) wrote(n int, took time.Duration) {
	if p == nil || p.drain == nil {
		return
	}
	if p.window >= paceOpen {
		if took < outputBlocked {
			return
		}
		p.window, p.unread, p.quick = paceFirst, 0, 0
	}
	if p.unread == 0 {
		p.first = p.now()
	}
	p.unread += n
	p.drain.drained(0) // the end of a write tells as if the terminal had read
}
