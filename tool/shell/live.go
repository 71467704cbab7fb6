package shell

import (
	"io"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
)

// MaxLive is how much of a command's output is shown while it runs, in bytes.
const MaxLive = 30 << 10

// live passes output on as it comes, but in pieces that are not too many and
// hold whole characters. Escapes stay in: the screen knows what to do with them.
type live struct {
	screen io.Writer
	pause  time.Duration // between two pieces

	mu      sync.Mutex
	pending []byte
	room    int // bytes that may still be shown
	more    int // bytes that came after there was no room
	last    time.Time
	timer   *time.Timer // runs while pending waits for its time
	closed  bool
}

func newLive(screen io.Writer, pause time.Duration) *live {
	return &live{screen: screen, pause: pause, room: MaxLive}
}

func (l *live) write(p []byte) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	n := min(len(p), l.room)
	l.pending = append(l.pending, p[:n]...)
	l.room -= n
	l.more += len(p) - n
	if len(l.pending) == 0 || l.timer != nil {
		return
	}
	if wait := l.pause - time.Since(l.last); wait > 0 && !l.last.IsZero() {
		l.timer = time.AfterFunc(wait, l.due)
		return
	}
	l.show(false)
}

// due shows what waited.
func (l *live) due() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.closed {
		l.show(false)
	}
}

// show writes what is pending, but for the beginning of a character whose rest
// has not come yet; all of it at the end.
func (l *live) show(all bool) {
	n := len(l.pending)
	if !all {
		n = wholeRunes(l.pending)
	}
	if n == 0 {
		return
	}
	// A screen that cannot be written to is not the command's affair.
	_, _ = io.WriteString(l.screen, toText(l.pending[:n]))
	l.pending = append(l.pending[:0], l.pending[n:]...)
	l.last = time.Now()
}

// close shows the rest, and says how much was not shown.
func (l *live) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.show(true)
	if l.more > 0 {
		_, _ = io.WriteString(l.screen, "\n[… "+strconv.Itoa(l.more)+" more bytes, not shown]\n")
	}
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
