package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/briandowns/spinner"
	"github.com/clipperhouse/displaywidth"
)

// transient is the one line that may change: the last, without a newline, or the end of
// it behind the text of an open row.
type transient struct {
	line    string // what stands there; "" when nothing does
	behind  bool   // it stands behind text
	style   string // SGR sequence that the text behind which it stands goes on in; may be ""
	width   int    // of the screen when it was drawn
	painted time.Time
	frame   int
}

// Sets of spinner frames, as that library numbers them.
const (
	framesASCII   = 9
	framesBraille = 14
)

// pace is how often the transient line may change.
func (s *Screen) pace() time.Duration {
	if s.opt.SSH {
		return time.Second
	}
	return 500 * time.Millisecond
}

const (
	// silence is how long an open row of text stands still before the time is shown behind it.
	silence = time.Second
	// roomBehind is how many cells of the row that needs: a blank, a frame, and one that stays free.
	roomBehind = 3
)

// mayPaint reports whether the cursor stands at the start of a free line, or behind
// text that leaves room.
func (s *Screen) mayPaint() bool {
	return !s.paused && !s.asking && !s.prompt && len(s.sink.pending) == 0 &&
		(s.busy.doing != "" || len(s.calls) > 0) && (s.rowIsFree() || s.md.Room() >= roomBehind)
}

// nextPaint is when the transient line appears or changes; zero for never.
func (s *Screen) nextPaint() time.Time {
	if !s.mayPaint() {
		return time.Time{}
	}
	if s.transient.line != "" {
		return s.transient.painted.Add(s.pace())
	}
	at := s.busySince().Add(spinnerDelay)
	if !s.rowIsFree() {
		at = s.sink.flushed.Add(silence)
	}
	if next := s.transient.painted.Add(s.pace()); next.After(at) {
		return next
	}
	return at
}

func (s *Screen) busySince() time.Time {
	if len(s.calls) > 0 {
		return s.calls[0].since
	}
	return s.busy.since
}

// paint draws the transient line when it is due, changing as little as it can.
// The cursor never leaves the line and is never hidden.
func (s *Screen) paint(now time.Time) {
	if at := s.nextPaint(); at.IsZero() || now.Before(at) {
		return
	}
	width := s.width()
	old := s.transient
	s.transient = transient{width: width, painted: now, frame: old.frame}
	if s.transient.behind = !s.rowIsFree(); s.transient.behind {
		s.transient.style = s.md.Style()
	}
	next := s.ascii(s.transientText(now, width))
	s.transient.line, s.transient.frame = next, old.frame+1
	keep := commonPrefix(old.line, next)
	back := cells(old.line[keep:])
	if old.line == "" || old.width != width || keep == 0 || back > 8 {
		if s.transient.style != "" && old.line == "" {
			next = endStyle + next
		}
		s.sink.writeErr(now, old.wipe()+next)
		return
	}
	tail := next[keep:]
	if cells(tail) < back {
		tail += "\x1b[K"
	}
	s.sink.writeErr(now, strings.Repeat("\b", back)+tail)
}

// hideTransient wipes the transient line.
func (s *Screen) hideTransient() {
	if s.transient.line == "" {
		return
	}
	wipe := s.transient.wipe() + s.transient.style
	s.transient.line = ""
	s.sink.writeErr(s.opt.Now(), wipe)
}

// wipe takes away what stands there.
func (t transient) wipe() string {
	switch {
	case t.line == "":
		return ""
	case t.behind:
		return strings.Repeat("\b", cells(t.line)) + "\x1b[K"
	}
	return "\r\x1b[K"
}

// transientText says what is going on, in less than a row.
func (s *Screen) transientText(now time.Time, width int) string {
	if s.transient.behind {
		text := "  " + s.frame() + " " + passed(now.Sub(s.sink.flushed))
		if cells(text) >= s.md.Room() {
			return " " + s.frame()
		}
		return text
	}
	if len(s.calls) > 0 {
		r := s.calls[0]
		took := passed(now.Sub(r.since))
		if n := len(s.calls) - 1; n > 0 {
			took = strings.TrimSuffix(fmt.Sprintf("and %d more, %s", n, took), ", ")
		}
		if live := s.lastOf(r); live != "" && len(s.calls) == 1 {
			head := s.lay(callText{callVerb(r.call), s.cut(s.object(r.call), width/2), took, 0, true, 0})
			return s.cut(s.marked(head)+"  "+live, width-1)
		}
		return s.cut(s.marked(s.lay(callText{callVerb(r.call), s.object(r.call), took, rightEdge, true, 0})), width-1)
	}
	since := s.busy.since
	if s.busy.until.After(since) {
		since = s.busy.until
	}
	took := ""
	if t := passed(now.Sub(since)); t != "" {
		took = ", " + t
	}
	took += " " + s.frame()
	if left := s.busy.until.Sub(now); left > 0 {
		return s.cut("  waiting "+span(wholeWait(left))+took[strings.LastIndexByte(took, ' '):], width-1)
	}
	text := "  " + s.activity(s.busy.doing, s.busy.tool, s.busy.bytes) + took
	if cells(text) >= width {
		text = "  " + s.activity(s.busy.doing, "", s.busy.bytes) + took
	}
	return s.cut(text, width-1)
}

// frame is the spinner's next.
func (s *Screen) frame() string {
	set := framesASCII
	if s.opt.UTF8 {
		set = framesBraille
	}
	frames := spinner.CharSets[set]
	return frames[s.transient.frame%len(frames)]
}

// passed is the whole seconds that have passed, "" for none.
func passed(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return span(d.Truncate(time.Second))
}

// cut shortens text to a number of cells.
func (s *Screen) cut(text string, n int) string {
	return displaywidth.TruncateString(text, max(n, 1), s.ellipsis())
}

func (s *Screen) ellipsis() string {
	if s.opt.UTF8 {
		return "…"
	}
	return "..."
}

// commonPrefix is how many bytes two texts share at their start, in whole runes.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// Pause keeps the transient line away while something else owns the last line
// (the prompt, a pager, an editor, the shell while artoo is stopped). Resume
// lets it come back. A reply goes on in a row of its own: where the cursor will
// be by then nobody knows.
func (s *Screen) Pause() {
	s.do(func() {
		s.paused = true
		s.hideTransient()
		if s.replying() && s.same() && s.md.Column() > 0 {
			s.breakRow()
		}
	})
}

// Resume ends Pause.
func (s *Screen) Resume() {
	s.do(func() { s.paused = false })
}
