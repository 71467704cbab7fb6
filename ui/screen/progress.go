package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/briandowns/spinner"
	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// progress is the one line that may change: the last without a newline, or the end of an open
// row of text. Each has a Spinner of its own.
type progress struct {
	gate   *gate  // the Spinner's output; nil while no line stands
	line   string // its text; "" before the first frame
	behind bool   // it stands behind text
	style  string // SGR sequence that the text behind which it stands goes on in; may be ""
	// loud is how many bytes of its beginning are not small, 0 where all of it is as large; drawn is loud when it was
	// drawn, and small the SGR sequence of the small part, "" without colours.
	loud, drawn int
	small       string
	width       int // cells of the screen when it was drawn
	painted     time.Time
}

// gate takes a Spinner's output, strips its colour and draws the changed cells: the Spinner
// erases and writes the whole line for each frame, and counts its width in bytes, so its
// erasing would reach the rows above.
type gate struct {
	s    *Screen
	stop func() // the Spinner; never called with the lock of the screen held
}

// spin starts the progress line. The Spinner calls update and Write on its own goroutine, with
// its own lock held.
func (s *Screen) spin() {
	g := &gate{s: s}
	frames := spinner.CharSets[framesASCII]
	if s.opt.UTF8 {
		frames = spinner.CharSets[framesBraille]
	}
	sp := spinner.New(frames, s.layout.pace(), spinner.WithWriter(g), spinner.WithHiddenCursor(false))
	if s.opt.ErrFile != nil {
		sp.WriterFile = s.opt.ErrFile // or Start refuses where stdout is a pipe
	}
	sp.PreUpdate = g.update
	t := &s.transcript
	t.progress = progress{gate: g, behind: !t.open.rowIsFree(), painted: s.opt.Now()}
	palette := s.opt.Palette
	if s.opt.ErrColor {
		t.progress.small = palette.begin(dim)
	}
	if t.progress.behind {
		t.progress.style = palette.begin(t.open.md.row.style)
	}
	g.stop = s.opt.Spin(sp)
}

// update sets the text around the next frame. It may call no method of the Spinner, whose lock is held.
func (g *gate) update(sp *spinner.Spinner) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	if t := &g.s.transcript; t.progress.gate == g {
		sp.Prefix, sp.Suffix = t.progressText(t.opt.Now(), t.layout.width())
	}
}

// Write implements io.Writer for the Spinner.
func (g *gate) Write(p []byte) (int, error) {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	line := strings.TrimPrefix(sanitize.StripSequences(string(p)), "\r")
	if t := &g.s.transcript; t.progress.gate == g && line != "" && t.mayPaint() {
		now := t.opt.Now()
		t.outputs.writeErr(now, t.progress.paint(line, now, t.layout.width()))
	}
	return len(p), nil
}

const (
	framesASCII   = 9
	framesBraille = 14
)

func (lay *layout) pace() time.Duration {
	return either(lay.opt.SSH, time.Second, 500*time.Millisecond)
}

const (
	// silence is how long an open row of text stands still before the time is shown behind it.
	silence = time.Second
	// roomBehind is how many cells of the row that needs: a space, a frame, and one that stays free.
	roomBehind = 3
	// roomForFrame is how many cells a space and a frame take.
	roomForFrame = 2
)

// mayPaint reports whether the cursor stands on a free line, or behind text that leaves room.
func (t *transcript) mayPaint() bool {
	return !t.paused && !t.asking && !t.prompt && len(t.outputs.pending) == 0 &&
		(t.work.busy.doing != "" || len(t.work.calls) > 0) && (t.open.rowIsFree() || t.open.md.row.room() >= roomBehind)
}

// nextSpin is when the progress line begins; zero for never, and while it stands.
func (t *transcript) nextSpin() time.Time {
	if t.progress.gate != nil || !t.mayPaint() {
		return time.Time{}
	}
	at := t.work.since().Add(spinnerDelay)
	if !t.open.rowIsFree() {
		at = t.outputs.flushed.Add(silence)
	}
	if next := t.progress.painted.Add(t.layout.pace()); next.After(at) {
		return next
	}
	return at
}

// paint draws the next state of the line, changing as little as it can.
func (p *progress) paint(next string, now time.Time, width int) string {
	old := *p
	p.line, p.width, p.painted = next, width, now
	keep := commonPrefix(old.line, next)
	back := cells(old.line[keep:])
	p.drawn = p.loud
	grown := p.loud != old.drawn && keep > min(p.loud, old.drawn)
	if old.line == "" || old.width != width || keep == 0 || back > 8 || grown {
		next = p.sized(next, 0)
		if old.style != "" && old.line == "" {
			next = endStyle() + next
		}
		return old.wipe() + next
	}
	tail := p.sized(next[keep:], keep)
	if cells(next[keep:]) < back {
		tail += "\x1b[K"
	}
	return strings.Repeat("\b", back) + tail
}

// sized is a piece of the line, which begins at its byte from, with the small part in its style.
func (p *progress) sized(piece string, from int) string {
	at := max(p.loud-from, 0)
	if p.small == "" || p.loud == 0 || at >= len(piece) {
		return piece
	}
	return piece[:at] + p.small + piece[at:] + endStyle()
}

func (t *transcript) hideProgress() {
	p := t.progress
	if p.gate == nil {
		return
	}
	t.stops = append(t.stops, p.gate.stop)
	t.progress = progress{painted: p.painted}
	if p.line != "" {
		t.outputs.writeErr(t.opt.Now(), p.wipe()+p.style)
	}
}

func (p progress) wipe() string {
	switch {
	case p.line == "":
		return ""
	case p.behind:
		return strings.Repeat("\b", cells(p.line)) + "\x1b[K"
	}
	return "\r\x1b[K"
}

func (t *transcript) progressText(now time.Time, width int) (prefix, suffix string) {
	if t.progress.behind {
		if took := t.layout.passed(now.Sub(t.outputs.flushed)); took != "" && len("  x ")+cells(took) < t.open.md.row.room() {
			return "  ", " " + took
		}
		if t.open.md.row.room() > roomBehind {
			return "  ", ""
		}
		return " ", ""
	}
	text, loud := t.work.text(t.layout, now, width)
	text = t.layout.cut(text, width-1-roomForFrame) + " "
	if t.progress.loud = loud; loud >= len(text)-1 {
		t.progress.loud = 0
	}
	return text, ""
}

// text is what the progress line says; loud are its bytes that are not small.
func (w *work) text(lay *layout, now time.Time, width int) (text string, loud int) {
	if len(w.calls) > 0 {
		return w.calls[0].text(lay, now, width, len(w.calls)-1)
	}
	if left := w.busy.until.Sub(now); left > 0 {
		text = lay.lead(markBegun) + "waiting " + lay.spanWords(wholeWait(left))
		return text, len(text)
	}
	since := w.busy.since
	if w.busy.until.After(since) {
		since = w.busy.until
	}
	took := ""
	if t := lay.passed(now.Sub(since)); t != "" {
		took = ", " + t
	}
	text = lay.lead(markBegun) + lay.activity(w.busy.doing, w.busy.tool, w.busy.bytes) + took
	if cells(text) > width-1-roomForFrame {
		text = lay.lead(markBegun) + lay.activity(w.busy.doing, "", w.busy.bytes) + took
	}
	return text, len(text)
}

// text is a running call's part of the progress line, with so many more calls beside it.
func (r *running) text(lay *layout, now time.Time, width, more int) (text string, loud int) {
	ran := now.Sub(r.since)
	object := lay.cut(lay.object(r.call), width/2)
	text = lay.marked(lay.row(callText{mark: markBegun, verb: callVerb(r.call), object: object, bare: true}))
	if r.lines > 0 {
		text += "  " + texts.Count(r.lines, "line")
	}
	if more > 0 {
		text += fmt.Sprintf("  and %d more", more)
	}
	if took := lay.passed(ran); took != "" {
		text += "  " + took
	}
	loud = len(text)
	if live := lay.lastOf(r); live != "" && more == 0 && (ran >= liveDelay || r.input != (agent.ToolInput{})) {
		text += "  " + live
	}
	return text, loud
}

// passed is the whole seconds that have passed, "" for less than one.
func (lay *layout) passed(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return lay.spanWords(d.Truncate(time.Second))
}

func (lay *layout) cut(text string, n int) string {
	return displaywidth.TruncateString(text, max(n, 1), lay.ellipsis())
}

func (lay *layout) ellipsis() string { return lay.glyph("…", "...") }

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

// Pause keeps the progress line away until Resume, while something else owns the last line (a
// pager, an editor, the shell). A reply then goes on in a row of its own.
func (s *Screen) Pause() {
	s.do(func(t *transcript) {
		t.paused = true
		t.hideProgress()
		if t.open.replying() && s.layout.same() && t.open.md.row.col > 0 {
			t.breakRow()
		}
	})
}

// Resume ends Pause.
func (s *Screen) Resume() {
	s.do(func(t *transcript) { t.paused = false })
}
