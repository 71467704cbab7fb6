package screen

import (
	"bytes"
	"strings"
	"time"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

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
			took = passed(now.Sub(r.since))
		}
		t.printCall(r.call, took, 0)
	}
	r.started, r.said = true, now
	fresh := r.lines - r.shown
	text := t.layout.lastLines(r.ended(min(fresh, liveLines)), liveLines)
	if fresh > liveLines {
		text = body + t.layout.ellipsis() + "\n" + text
	}
	t.put(text)
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
			if took := passed(s.opt.Now().Sub(r.since)); took != "" {
				text = took + ", " + text
			}
			t.printCall(r.call, text, 0)
			t.put(s.layout.lastLines(string(r.end), soFarLines))
		}
	})
	return ran
}
