package screen

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
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
	// effects are the changes that a question was about, nil for none; lost says that they were discarded.
	effects *permission.Effects
	lost    bool
	input   agent.ToolInput // the call that its sub-agent is writing
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
		t.printCall(r.call, "", markBegun)
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
		t.print(t.layout.ranLine(r.call, still, markBegun))
	} else {
		t.printCall(r.call, still, markBegun)
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

const (
	// maxHeard is how much of a running call's output is kept, in bytes.
	maxHeard = 64 << 10
	// maxLive is how much of it the progress line looks at: a row is shorter.
	maxLive = 1 << 10
	// soFarLines is how many of its lines SoFar shows.
	soFarLines = 400

	// liveDelay is how long a call runs before its output is shown below it. The pause until
	// more is shown grows from firstPause to report: an hour of output is a few screens.
	liveDelay  = 3 * time.Second
	firstPause = 2 * time.Second
	// liveLines is how many of its last lines are shown at a time.
	liveLines = 5
)

// written is the output of a running call.
type written struct {
	end    []byte // the last bytes written
	wiped  bool   // a carriage return came: new text writes the last line again
	any    bool
	lines  int       // lines that have ended
	shown  int       // those of them that were shown or passed over
	last   string    // the line that was shown last, safe
	next   time.Time // when lines may be shown; zero before the first time
	pauses int
}

// keep keeps the end of a running call's output. It copies once for every maxHeard bytes.
func (w *written) keep(chunk string) {
	w.any = w.any || chunk != ""
	for i, part := range strings.Split(chunk, "\r") {
		w.wiped = w.wiped || i > 0
		if part == "" {
			continue
		}
		if w.wiped && part[0] != '\n' {
			w.end = w.end[:bytes.LastIndexByte(w.end, '\n')+1]
		}
		w.wiped = false
		w.lines += strings.Count(part, "\n")
		if len(w.end)+len(part) > 2*maxHeard {
			part = part[max(len(part)-maxHeard, 0):]
			w.end = append(w.end[:0], w.end[max(len(w.end)+len(part)-maxHeard, 0):]...)
		}
		w.end = append(w.end, part...)
	}
}

// lastLine is the last line that is not blank, safe to show; "" when there is none.
func (w *written) lastLine() string {
	text := strings.TrimRight(sanitize.StripSequences(string(w.end[max(len(w.end)-maxLive, 0):])), " \n")
	return strings.TrimSpace(line(text[strings.LastIndexByte(text, '\n')+1:]))
}

func (w *written) ended(n int) string {
	text := w.end[:bytes.LastIndexByte(w.end, '\n')+1]
	from := len(text)
	for ; n > 0 && from > 0; n-- {
		from = bytes.LastIndexByte(text[:from-1], '\n') + 1
	}
	return string(text[from:])
}

// liveAt is when lines of a running call are to be shown; zero for never.
func (lay *layout) liveAt(r *running) time.Time {
	switch {
	case !lay.opt.Conversation || lay.opt.Quiet || lay.opt.Profile == Spoken || r.shown == r.lines:
		return time.Time{}
	case r.next.IsZero():
		return r.since.Add(liveDelay)
	}
	return r.next
}

// below shows the lines that a call wrote since it was last shown, at most liveLines.
func (t *transcript) below(r *running, now time.Time) {
	if t.lastRun != r.call.ID || !r.started {
		took := ""
		if r.started {
			took = t.layout.passed(now.Sub(r.since))
		}
		t.printCall(r.call, took, markBegun)
	}
	r.started, r.said = true, now
	fresh := r.lines - r.shown
	text := t.layout.lastLines(r.ended(min(fresh, liveLines)), liveLines)
	if fresh > liveLines {
		text = t.layout.body() + t.layout.ellipsis() + "\n" + text
	}
	t.belongs(r.call, text)
	t.lastRun = r.call.ID
	r.shown, r.last = r.lines, t.layout.ascii(r.lastLine())
	r.next = now.Add(min(firstPause<<r.pauses, report))
	r.pauses = min(r.pauses+1, 10)
}

// unseen is the end of a failed call's output without the lines that stand right above.
func (r *running) unseen(tail, lastRun string) string {
	if lastRun != r.call.ID || r.next.IsZero() {
		return tail
	}
	fresh := r.lines - r.shown
	if !bytes.HasSuffix(r.end, []byte("\n")) {
		fresh++
	}
	lines := strings.SplitAfter(strings.TrimRight(tail, "\n"), "\n")
	return strings.Join(lines[max(len(lines)-fresh, 0):], "")
}

// SoFar prints the last lines that the running calls wrote. It reports false when no call runs.
func (s *Screen) SoFar() bool {
	ran := false
	s.do(func(t *transcript) {
		for _, r := range t.work.calls {
			ran = true
			text := "output so far"
			kept := min(bytes.Count(r.end, []byte("\n")), soFarLines)
			switch {
			case !r.any:
				text = "no " + text
			case r.lines > kept:
				text = "last " + texts.Count(kept, "line") + " of the " + text
			}
			if took := s.layout.passed(s.opt.Now().Sub(r.since)); took != "" {
				text = took + ", " + text
			}
			t.printCall(r.call, text, markBegun)
			t.put(s.layout.lastLines(string(r.end), soFarLines))
		}
	})
	return ran
}
