package screen

import (
	"fmt"
	"time"

	"artoo/agent"
)

// busy is what the model is doing while nothing of it can be shown.
type busy struct {
	thinking bool
	heard    bool // something of the reply has come
	since    time.Time
	said     time.Time // the last line about it, where there is no transient line
	until    time.Time // a retry waits until then; zero when none does
}

// running is a call that has not ended.
type running struct {
	call     agent.Call
	since    time.Time
	started  bool      // its own line was printed
	said     time.Time // when something was last said of it
	decision decision
	written
}

const (
	// spinnerDelay is how long a thing may take before it is shown as running.
	spinnerDelay = 500 * time.Millisecond
	// report is how often a long one is mentioned where lines cannot change.
	report = 30 * time.Second
)

// rest forgets what was going on: the turn is over or a user is asked.
func (s *Screen) rest() {
	s.busy, s.calls = busy{}, nil
	s.endAsking()
	s.hideTransient()
}

// schedule sets the one timer to the next moment at which something is to be
// written, or to none: an idle screen costs nothing.
func (s *Screen) schedule() {
	at := s.next()
	if s.timer != nil {
		if s.timerAt.Equal(at) {
			return
		}
		s.timer()
		s.timer = nil
	}
	if at.IsZero() {
		return
	}
	s.timerID++
	id := s.timerID
	s.timerAt = at
	s.timer = s.opt.After(max(at.Sub(s.opt.Now()), 0), func() { s.wake(id) })
}

// wake does what is due.
func (s *Screen) wake(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil || id != s.timerID {
		return // set anew in the meantime
	}
	s.timer = nil
	now := s.opt.Now()
	if len(s.sink.pending) > 0 && !now.Before(s.sink.flushed.Add(interval)) {
		s.sink.flush(now)
	}
	s.showLive(now)
	if s.moving() {
		s.paint(now)
	} else {
		s.report(now)
	}
	s.schedule()
}

// next is the earliest moment at which wake has something to do.
func (s *Screen) next() time.Time {
	var at time.Time
	add := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.sink.pending) > 0 {
		add(s.sink.flushed.Add(interval))
	}
	if !s.asking && !s.paused && !s.prompt {
		for _, r := range s.calls {
			if t := s.liveAt(r); !t.IsZero() {
				add(t)
			}
		}
	}
	switch {
	case s.moving():
		if t := s.nextPaint(); !t.IsZero() {
			add(t)
		}
	case !s.opt.Quiet && !s.asking && !s.paused:
		for _, r := range s.calls {
			add(r.due())
		}
		if s.busy.thinking {
			add(s.busy.said.Add(report))
		}
	}
	return at
}

// due is when the next line about a call is to be printed.
func (r *running) due() time.Time {
	if !r.started {
		return r.since.Add(spinnerDelay)
	}
	return r.said.Add(report)
}

// report prints what is due where lines cannot change.
func (s *Screen) report(now time.Time) {
	if s.opt.Quiet || s.asking || s.paused {
		return
	}
	for _, r := range s.calls {
		switch {
		case now.Before(r.due()):
		case !r.started:
			r.started, r.said = true, now
			s.print(s.callLine(r.call, ""))
			s.lastRun = r.call.ID
		default:
			s.stillRuns(r, now)
		}
	}
	if s.busy.thinking && !now.Before(s.busy.said.Add(report)) {
		s.busy.said = now
		doing := "waiting for an answer"
		if s.busy.heard {
			doing = "thinking"
		}
		s.aside(s.note(s.still(doing, now.Sub(s.busy.since))))
	}
}

// stillRuns says that a call goes on, and in a conversation what its last line is by
// now, if that was not shown.
func (s *Screen) stillRuns(r *running, now time.Time) {
	r.said = now
	still, last := s.still("running", now.Sub(r.since)), ""
	if now := s.ascii(r.lastLine()); s.opt.Conversation && now != r.last {
		r.last, last = now, now
	}
	if last != "" && s.opt.Profile == Spoken {
		still, last = still+", "+last, ""
	}
	if s.lastRun == r.call.ID {
		s.print(s.ranLine(r.call, still))
	} else {
		s.print(s.callLine(r.call, still))
	}
	if last != "" {
		s.put(s.lastLines(last, 1))
	}
	s.lastRun = r.call.ID
}

// still says that something goes on, and since when.
func (s *Screen) still(doing string, since time.Duration) string {
	if s.opt.Profile == Spoken {
		return "still " + doing + ", " + s.spanWords(since)
	}
	return fmt.Sprintf("still %s (%s)", doing, span(since))
}

// span is a duration in words of the transcript: 4s, 2m05s, 1h02m.
func span(d time.Duration) string {
	n := int(d.Round(time.Second) / time.Second)
	switch {
	case n < 60:
		return fmt.Sprintf("%ds", n)
	case n < 3600:
		return fmt.Sprintf("%dm%02ds", n/60, n%60)
	}
	return fmt.Sprintf("%dh%02dm", n/3600, n/60%60)
}
