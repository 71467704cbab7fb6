package shell

import (
	"bytes"
	"fmt"
	"io"
	"strings"
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
