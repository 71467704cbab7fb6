package screen

import (
	"fmt"
	"time"

	"artoo/agent"
)

// busy is the model's activity while nothing of it can be shown.
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

// doing is a model's activity, in the words of the transcript; "" is none.
type doing string

const (
	waiting  doing = "waiting for an answer" // nothing of the reply has come
	thinking doing = "thinking"
	writing  doing = "writing" // text that cannot be shown yet
	calling  doing = "writing a tool call"
	checking doing = "checking a tool call" // it is written; a hook may take long
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

// work is the work under way: the model's activity, and the calls that have not ended.
type work struct {
	busy  busy
	calls []*running
}

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

func (w *work) since() time.Time {
	if len(w.calls) > 0 {
		return w.calls[0].since
	}
	return w.busy.since
}

func (w *work) waited(d time.Duration) {
	for _, r := range w.calls {
		r.since, r.said = r.since.Add(d), r.said.Add(d)
	}
}

func (lay *layout) activity(what doing, tool string, bytes int) string {
	text := string(what)
	if tool = line(tool); tool != "" {
		text += lay.words(" ("+tool+")", ", "+tool)
	}
	if bytes > 0 {
		text += ", " + lay.words(kilobytes(bytes), spokenSize(bytes))
	}
	return text
}

// lastOf is the text that the sub-agent of a running call is writing, or the end of the call's output.
func (lay *layout) lastOf(r *running) string {
	if r.input != (agent.ToolInput{}) {
		return lay.ascii(lay.activity(calling, r.input.Tool, r.input.Bytes))
	}
	return lay.ascii(r.lastLine())
}

// rest forgets the work under way.
func (t *transcript) rest() {
	t.work = work{}
	t.endAsking()
	t.hideProgress()
}

// alarm is the one timer, set to the next moment at which something is to be written. An idle
// screen sets none.
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

func (s *Screen) wake(id int) {
	s.mu.Lock()
	defer s.unlock()
	if s.alarm.stop == nil || id != s.alarm.id {
		return // it was set again in the meantime
	}
	s.alarm.stop = nil
	now := s.opt.Now()
	s.events(func(at time.Time, do func(now time.Time)) {
		if !now.Before(at) {
			do(now)
		}
	})
	s.alarm.set(s.next(), &s.opt, s.wake)
}

// next is the earliest moment at which wake has something to do.
func (s *Screen) next() (next time.Time) {
	s.events(func(at time.Time, _ func(time.Time)) {
		if next.IsZero() || at.Before(next) {
			next = at
		}
	})
	return next
}

// events calls each with the timed events of the screen, and when.
func (s *Screen) events(each func(at time.Time, do func(now time.Time))) {
	t := &s.transcript
	event := func(at time.Time, do func(now time.Time)) {
		if !at.IsZero() {
			each(at, do)
		}
	}
	if len(t.outputs.pending) > 0 {
		event(t.outputs.flushed.Add(interval), t.outputs.flush)
	}
	waits := t.asking || t.paused
	if !waits && !t.prompt {
		for _, r := range t.work.calls {
			event(s.layout.liveAt(r), func(now time.Time) { t.below(r, now) })
		}
	}
	switch {
	case s.layout.moving():
		event(t.nextSpin(), func(time.Time) { s.spin() })
	case !waits && !s.opt.Quiet:
		for _, r := range t.work.calls {
			event(r.due(), func(now time.Time) { t.report(r, now) })
		}
		if t.work.busy.doing != "" && t.open.rowIsFree() {
			event(t.work.busy.due(), t.reportModel)
		}
	}
}

func (r *running) due() time.Time {
	if !r.started {
		return r.since.Add(spinnerDelay)
	}
	return r.said.Add(report)
}

// report prints a line about a call where lines cannot change.
func (t *transcript) report(r *running, now time.Time) {
	r.said = now
	if !r.started {
		r.started = true
		t.printCall(r.call, "", 0)
		t.lastRun = r.call.ID
		return
	}
	still, last := t.layout.still("running", now.Sub(r.since)), ""
	if end := t.layout.lastOf(r); t.opt.Conversation && end != r.last {
		r.last, last = end, end
	}
	if last != "" && t.opt.Profile == Spoken {
		still, last = still+", "+last, ""
	}
	if t.lastRun == r.call.ID {
		t.print(t.layout.ranLine(r.call, still, 0))
	} else {
		t.printCall(r.call, still, 0)
	}
	if last != "" {
		t.put(t.layout.lastLines(last, 1))
	}
	t.lastRun = r.call.ID
}

// reportModel prints a line about the model's activity where lines cannot change.
func (t *transcript) reportModel(now time.Time) {
	b := &t.work.busy
	b.said = now
	if b.doing == calling && !b.named {
		b.named = true
		t.aside(t.layout.note(t.layout.activity(b.doing, b.tool, 0)))
	} else {
		t.aside(t.layout.note(t.layout.still(t.layout.activity(b.doing, b.tool, b.bytes), now.Sub(b.since))))
	}
}

// due is when the next line about the model's activity is to be printed.
func (b busy) due() time.Time {
	if b.doing == calling && !b.named {
		return b.since.Add(spinnerDelay)
	}
	return b.said.Add(report)
}

func (lay *layout) still(doing string, since time.Duration) string {
	return "still " + doing + lay.words(" ("+span(since)+")", ", "+lay.spanWords(since))
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
