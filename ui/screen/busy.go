package screen

import (
	"fmt"
	"time"

	"artoo/agent"
)

// busy is what the model is doing while nothing of it can be shown.
type busy struct {
	doing doing
	tool  string // the tool whose call it writes, unsanitised; "" when it is not known
	index int    // position of that call in its reply
	bytes int    // bytes that came and are not shown
	since time.Time
	said  time.Time // the last line about it, where there is no progress line
	named bool      // a line said that a call is written
	until time.Time // a retry waits until then; zero when no retry waits
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
	input    agent.ToolInput // the call that its sub-agent is writing
	written
}

const (
	// spinnerDelay is how long a thing may take before it is shown as running.
	spinnerDelay = 500 * time.Millisecond
	// report is how often a long one is mentioned where lines cannot change.
	report = 30 * time.Second
)

// work is what goes on: what the model does, and the calls that have not ended.
type work struct {
	busy  busy
	calls []*running
}

// hear notes that bytes came of what the model does now.
func (w *work) hear(what doing, bytes int, now time.Time) {
	switch before := w.busy.doing; {
	case before == what:
	case before == "":
		w.busy = busy{since: now, said: now}
	case before != waiting || what != thinking: // it thinks from the request on
		w.busy = busy{since: now, said: w.busy.said, named: w.busy.named}
	}
	w.busy.doing = what
	w.busy.bytes += bytes
}

// visible notes that text of the reply was shown.
func (w *work) visible(now time.Time) {
	if w.busy.doing == writing {
		w.busy.bytes, w.busy.since, w.busy.said = 0, now, now
	}
}

// running is the call of that id, nil when it does not run.
func (w *work) running(id string) *running {
	for _, r := range w.calls {
		if r.call.ID == id {
			return r
		}
	}
	return nil
}

// since is when the first thing that goes on began.
func (w *work) since() time.Time {
	if len(w.calls) > 0 {
		return w.calls[0].since
	}
	return w.busy.since
}

// waited lets the clocks of the calls go on where they stood.
func (w *work) waited(d time.Duration) {
	for _, r := range w.calls {
		r.since, r.said = r.since.Add(d), r.said.Add(d)
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
	s.work = work{}
	s.endAsking()
	s.hideProgress()
}

// alarm is the one timer: it is set to the next moment at which something is to be written,
// or is not set, since an idle screen costs nothing.
type alarm struct {
	stop func() // nil when it is not set
	at   time.Time
	id   int
}

// set sets the alarm; zero is never. It calls wake with the lock not held.
func (a *alarm) set(at time.Time, opt *Options, wake func(id int)) {
	if a.stop != nil {
		if a.at.Equal(at) {
			return
		}
		a.stop()
		a.stop = nil
	}
	if at.IsZero() {
		return
	}
	a.id++
	id := a.id
	a.at = at
	a.stop = opt.After(max(at.Sub(opt.Now()), 0), func() { wake(id) })
}

// wake does what is due.
func (s *Screen) wake(id int) {
	s.mu.Lock()
	defer s.unlock()
	if s.alarm.stop == nil || id != s.alarm.id {
		return // it was set again in the meantime
	}
	s.alarm.stop = nil
	now := s.opt.Now()
	if len(s.outputs.pending) > 0 && !now.Before(s.outputs.flushed.Add(interval)) {
		s.outputs.flush(now)
	}
	s.showLive(now)
	if !s.layout.moving() {
		s.report(now)
	} else if at := s.nextSpin(); !at.IsZero() && !now.Before(at) {
		s.spin()
	}
	s.alarm.set(s.next(), &s.opt, s.wake)
}

// next is the earliest moment at which wake has something to do.
func (s *Screen) next() time.Time {
	var at time.Time
	add := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	if len(s.outputs.pending) > 0 {
		add(s.outputs.flushed.Add(interval))
	}
	if !s.asking && !s.paused && !s.prompt {
		for _, r := range s.work.calls {
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
		for _, r := range s.work.calls {
			add(r.due())
		}
		if s.work.busy.doing != "" && s.open.rowIsFree() {
			add(s.work.busy.due())
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
	for _, r := range s.work.calls {
		switch {
		case now.Before(r.due()):
		case !r.started:
			r.started, r.said = true, now
			s.printCall(r.call, "", 0)
			s.lastRun = r.call.ID
		default:
			still, last := s.layout.still("running", now.Sub(r.since)), ""
			if end := s.layout.lastOf(r); s.opt.Conversation && end != r.last {
				r.last, last = end, end
			}
			if last != "" && s.opt.Profile == Spoken {
				still, last = still+", "+last, ""
			}
			if r.said = now; s.lastRun == r.call.ID {
				s.print(s.layout.ranLine(r.call, still, 0))
			} else {
				s.printCall(r.call, still, 0)
			}
			if last != "" {
				s.put(s.layout.lastLines(last, 1))
			}
			s.lastRun = r.call.ID
		}
	}
	if b := s.work.busy; b.doing != "" && s.open.rowIsFree() && !now.Before(b.due()) {
		s.work.busy.said = now
		if b.doing == calling && !b.named {
			s.work.busy.named = true
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
