package shell

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// maxPiece is how much of a command's output is shown at a time, in bytes: its end.
const maxPiece = 16 << 10

// live shows output as it comes, without escapes, in pieces that are not too many and
// hold whole characters. A piece that begins with a carriage return rewrites the line
// that stood open, as progress bars do. Its methods need the intake's lock.
type live struct {
	screen io.Writer
	pause  time.Duration // between two pieces
	in     *intake

	lines   []byte // not shown yet
	skipped int    // bytes left out before them
	open    string
	last    time.Time
	timer   *time.Timer // runs while something waits for its time
}

// add takes output, and keeps its end: a piece that is shown, and as much before it.
func (l *live) add(p []byte) {
	if over := len(l.lines) + len(p) - 3*maxPiece; over > 0 {
		drop := min(over+maxPiece, len(l.lines))
		l.lines = append(l.lines[:0], l.lines[drop:]...)
		l.skipped += drop
		if over := len(p) - 2*maxPiece; over > 0 {
			p = p[over:]
			l.skipped += over
		}
	}
	l.lines = append(l.lines, p...)
}

// came shows new output, now or when it is time to.
func (l *live) came() {
	if l.timer != nil {
		return
	}
	if wait := l.pause - time.Since(l.last); wait > 0 && !l.last.IsZero() {
		l.timer = time.AfterFunc(wait, l.due)
		return
	}
	l.show()
}

// due shows output that waited.
func (l *live) due() {
	l.in.mu.Lock()
	defer l.in.mu.Unlock()
	l.timer = nil
	if l.in.live == l {
		l.show()
	}
}

// lastPiece is where the last part of lines begins that is shown: behind the end of a line, or at
// a private key that it would cut, since keys are known by their first line.
func lastPiece(lines []byte) int {
	over := len(lines) - maxPiece
	if over <= 0 {
		return 0
	}
	from := over + bytes.IndexByte(lines[over:], '\n') + 1
	before := lines[max(0, from-maxPiece):from]
	key := bytes.LastIndex(before, []byte("-----BEGIN "))
	if key >= 0 && bytes.Contains(before[key:], []byte("PRIVATE KEY")) &&
		!bytes.Contains(before[key:], []byte("-----END ")) {
		return from - len(before) + key
	}
	return from
}

// show writes output that was not shown yet, and of too much the last part.
func (l *live) show() {
	open := toText([]byte(l.in.clean.Open()))
	lines := l.lines
	var text string
	if from := lastPiece(lines); l.skipped+from > 0 {
		text = fmt.Sprintf("[… %d bytes not shown]\n%s%s", l.skipped+from-len(l.open), toText(lines[from:]), open)
		if l.open != "" {
			text = "\n" + text
		}
	} else if now, more := strings.CutPrefix(toText(lines)+open, l.open); more {
		text = now
	} else {
		text = "\r" + now
	}
	l.lines, l.skipped, l.open = l.lines[:0], 0, open
	if text != "" {
		l.last = time.Now()
		// A screen that cannot be written to is not the command's affair.
		_, _ = io.WriteString(l.screen, text)
	}
}

// end shows the rest.
func (l *live) end() {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.show()
}

// wholeRunes is the length of p without an unfinished character at its end.
func wholeRunes(p []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(p)); i++ {
		if b := p[len(p)-i]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRune(p[len(p)-i:]) {
				return len(p) - i
			}
			break
		}
	}
	return len(p)
}

// toText puts U+FFFD in place of each byte that is not UTF-8.
func toText(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	return string([]rune(string(p)))
}

// readSize is how much of a command's output is read at a time, in bytes.
const readSize = 256 << 10

// intake takes a command's output to where it is kept and to the screen, until it is closed.
type intake struct {
	mu     sync.Mutex
	closed bool
	clean  *Cleaner
	to     io.Writer // keeps it
	live   *live     // nil shows nothing
	record *record   // nil except in the background
}

// newIntake keeps output in to.
func newIntake(to io.Writer) *intake {
	in := &intake{to: to}
	in.clean = NewCleaner(cleaned{in})
	return in
}

// cleaned takes the output of an intake's Cleaner.
type cleaned struct{ *intake }

// Write implements io.Writer.
func (c cleaned) Write(p []byte) (int, error) {
	if c.live != nil {
		c.live.add(p)
	}
	return c.to.Write(p)
}

// read takes all that comes out of a pipe. Closing the pipe ends it.
func (in *intake) read(pipe io.Reader) {
	// The error is the pipe's end. The structs hide methods that would read less at a time.
	_, _ = io.CopyBuffer(struct{ io.Writer }{in}, struct{ io.Reader }{pipe}, make([]byte, readSize))
}

// Write implements io.Writer.
func (in *intake) Write(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return 0, os.ErrClosed
	}
	_, _ = in.clean.Write(p)
	if in.live != nil {
		in.live.came()
	}
	if in.record != nil {
		in.record.see(in.clean.Open())
	}
	return len(p), nil
}

// show has output from now on shown on a screen, in pieces that are at least a pause apart, until the returned func is
// called; of a command in the background first the output not read yet. If it is shown already, or the command has
// ended, show does nothing.
func (in *intake) show(screen io.Writer, pause time.Duration) (end func()) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed || in.live != nil {
		return func() {}
	}
	l := &live{screen: screen, pause: pause, in: in}
	in.live = l
	if in.record != nil {
		l.add([]byte(in.record.peek()))
		l.came()
	}
	return func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.live == l {
			in.hide()
		}
	}
}

// hide shows the rest, and nothing any more.
func (in *intake) hide() {
	if in.live != nil {
		in.live.end()
		in.live = nil
	}
}

// tell shows a record the line that has not ended.
func (in *intake) tell(r *record) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.record = r
	r.see(in.clean.Open())
}

// handOver sends output to a record, with the output so far, and returns that.
func (in *intake) handOver(output *Spool, to *record) []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	so := output.take()
	_, _ = to.Write(so)
	_ = to.read() // the caller reads it
	in.hide()
	in.to, in.record = to, to
	open := in.clean.Open()
	to.see(open)
	_ = to.read()
	return append(so, open...)
}

// close flushes output that is held back. Nothing is written afterwards.
func (in *intake) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed = true
	_ = in.clean.Close()
	in.hide()
}
