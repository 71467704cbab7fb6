package screen

import (
	"fmt"
	"time"

	"artoo/agent"
)

// busy is what the model is doing while nothing of it can be shown.
type busy struct {
	doing doing
	tool  string // whose call it writes, unsanitised; "" when that is not known
	index int    // of that call
	bytes int    // that came of it and are not shown
	since time.Time
	said  time.Time // the last line about it, where there is no progress line
	named bool      // a line said that a call is written
	until time.Time // a retry waits until then; zero when none does
}

// doing is what a model does, in the words of the transcript; "" is nothing.
type doing string

const (
	waiting  doing = "waiting for an answer" // nothing of the reply has come
	thinking doing = "thinking"
	writing  doing = "writing" // text that cannot be shown yet
	calling  doing = "writing a tool call"
)

// running is a call that has not ended.
type running struct {
	call     agent.Call
	since    time.Time
	started  bool      // its own line was printed
	said     time.Time // when something was last said of it
	decision decision
	input    agent.ToolInput // of the call that its sub-agent is writing
	written
}

const (
	// spinnerDelay is how long a thing may take before it is shown as running.
	spinnerDelay = 500 * time.Millisecond
	// report is how often a long one is mentioned where lines cannot change.
	report = 30 * time.Second
)

// hear notes that bytes came of what the model does now.
func (s *Screen) hear(what doing, bytes int) {
	now := s.opt.Now()
	switch before := s.busy.doing; {
	case before == what:
	case before == "":
		s.busy = busy{since: now, said: now}
	case before != waiting || what != thinking: // it thinks from the request on
		s.busy = busy{since: now, said: s.busy.said, named: s.busy.named}
	}
	s.busy.doing = what
	s.busy.bytes += bytes
}

// visible notes that text of the reply was shown.
func (s *Screen) visible() {
	if s.busy.doing == writing {
		now := s.opt.Now()
		s.busy.bytes, s.busy.since, s.busy.said = 0, now, now
	}
}

// activity says what the model does and how much has come of it.
func (lay *layout) activity(what doing, tool string, bytes int) string {
	text, spoken := string(what), lay.opt.Profile == Spoken
	if tool = line(tool); tool != "" && spoken {
		text += ", " + tool
	} else if tool != "" {
		text += " (" + tool + ")"
	}
	switch {
	case bytes > 0 && spoken:
		text += ", " + spokenSize(bytes)
	case bytes > 0:
		text += ", " + kilobytes(bytes)
	}
	return text
}

// lastOf is the last that is known of a running call: what its sub-agent is writing,
// or the end of its output.
func (lay *layout) lastOf(r *running) string {
	if r.input != (agent.ToolInput{}) {
		return lay.ascii(lay.activity(calling, r.input.Tool, r.input.Bytes))
	}
	return lay.ascii(r.lastLine())
}

// rest forgets what was going on: the turn is over or a user is asked.
func (s *Screen) rest() {
	s.busy, s.calls = busy{}, nil
	s.endAsking()
	s.hideProgress()
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
	defer s.unlock()
	if s.timer == nil || id != s.timerID {
		return // set anew in the meantime
	}
	s.timer = nil
	now := s.opt.Now()
	if len(s.sink.pending) > 0 && !now.Before(s.sink.flushed.Add(interval)) {
		s.sink.flush(now)
	}
	s.showLive(now)
	if s.layout.moving() {
		if at := s.nextSpin(); !at.IsZero() && !now.Before(at) {
			s.spin()
		}
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
			if t := s.layout.liveAt(r); !t.IsZero() {
				add(t)
			}
		}
	}
	switch {
	case s.layout.moving():
		if t := s.nextSpin(); !t.IsZero() {
			add(t)
		}
	case !s.opt.Quiet && !s.asking && !s.paused:
		for _, r := range s.calls {
			add(r.due())
		}
		if s.busy.doing != "" && s.rowIsFree() {
			add(s.busy.due())
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
			s.printCall(r.call, "", 0)
			s.lastRun = r.call.ID
		default:
			s.stillRuns(r, now)
		}
	}
	if b := s.busy; b.doing != "" && s.rowIsFree() && !now.Before(b.due()) {
		s.busy.said = now
		if b.doing == calling && !b.named {
			s.busy.named = true
			s.aside(s.layout.note(s.layout.activity(b.doing, b.tool, 0)))
		} else {
			s.aside(s.layout.note(s.layout.still(s.layout.activity(b.doing, b.tool, b.bytes), now.Sub(b.since))))
		}
	}
}

// due is when the next line about what the model does is to be printed.
func (b busy) due() time.Time {
	if b.doing == calling && !b.named {
		return b.since.Add(spinnerDelay)
	}
	return b.said.Add(report)
}

// rowIsFree reports whether no row of a reply is open.
func (s *Screen) rowIsFree() bool {
	return (s.md == nil || s.md.Column() == 0) && !s.plain.open
}

// stillRuns says that a call goes on, and in a conversation what its last line is by
// now, if that was not shown.
func (s *Screen) stillRuns(r *running, now time.Time) {
	r.said = now
	still, last := s.layout.still("running", now.Sub(r.since)), ""
	if now := s.layout.lastOf(r); s.opt.Conversation && now != r.last {
		r.last, last = now, now
	}
	if last != "" && s.opt.Profile == Spoken {
		still, last = still+", "+last, ""
	}
	if s.lastRun == r.call.ID {
		s.print(s.layout.ranLine(r.call, still, 0))
	} else {
		s.printCall(r.call, still, 0)
	}
	if last != "" {
		s.put(s.layout.lastLines(last, 1))
	}
	s.lastRun = r.call.ID
}

// still says that something goes on, and since when.
func (lay *layout) still(doing string, since time.Duration) string {
	if lay.opt.Profile == Spoken {
		return "still " + doing + ", " + lay.spanWords(since)
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
