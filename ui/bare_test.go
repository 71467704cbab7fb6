//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"artoo/ui/screen"
)

// bare is an editing front without a terminal and without goroutines of its
// own: the test is the pump, and looks at what a terminal would show.
type bare struct {
	testing.TB
	f     *keyReader
	term  *vt
	bytes bytes.Buffer // all that was written
	now   time.Time
	w     *lineRequest
	kept  []string // in the history file
}

func newBare(t testing.TB, history []string, change func(*Options)) *bare {
	t.Helper()
	b := &bare{TB: t, term: newVT(60, 12), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	opt := Options{
		Agent: testAgent(t), Program: &testProgram{}, Profile: screen.Rich, Sender: &sender{},
		Clock:  Clock{Now: func() time.Time { return b.now }, After: func(time.Duration) <-chan time.Time { return nil }},
		Device: Device{In: strings.NewReader(""), Size: func() (int, int) { return b.term.cols, b.term.rows }},
	}
	if change != nil {
		change(&opt)
	}
	opt.Screen = newTestScreen(io.Discard, io.MultiWriter(b.term, &b.bytes), opt.Profile, opt.Clock.Now)
	term, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	ed, err := newEditor(history)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{in: &input{}, screen: opt.Screen, quit: make(chan struct{}), modes: &ttyModes{fd: -1},
		quitted: func() {}}
	b.f = term.newKeyReader(c, ed, func(text string) {
		if keepsHistory(text) {
			b.kept = append(b.kept, text)
		}
	})
	b.f.stop = func() bool { return true }
	c.reader = b.f
	t.Cleanup(func() {
		close(c.quit)
		if err := ed.close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// read wants a line.
func (b *bare) read(initial string) { b.start(&lineRequest{prompt: "you: ", initial: initial}) }

// ask wants the answer to a question.
func (b *bare) ask() { b.start(&lineRequest{prompt: "Do it? ", question: true}) }

func (b *bare) start(w *lineRequest) {
	w.reply = make(chan result, 1)
	b.w = w
	b.f.start(w)
}

// keys gives each chunk as one read; an Esc at the end of one is by itself.
func (b *bare) keys(chunks ...string) {
	for _, c := range chunks {
		b.f.take(chunk{data: []byte(c), at: b.now})
		if strings.HasSuffix(c, "\x1b") {
			b.silence(escWait)
		}
	}
}

// silence lets time pass without input.
func (b *bare) silence(d time.Duration) {
	b.now = b.now.Add(d)
	if b.f.decoder.wait() > 0 && !b.now.Before(b.f.due) {
		b.f.keys(b.f.decoder.expire(), b.now)
	}
}

// result is what the wanted line came to; ok is false while it is wanted.
func (b *bare) result() (r result, ok bool) {
	select {
	case r := <-b.w.reply:
		return r, true
	default:
		return result{}, false
	}
}

// sent is the message that was entered.
func (b *bare) sent() string {
	b.Helper()
	r, ok := b.result()
	if !ok || r.err != nil || r.line.action != actSend {
		b.Fatalf("no line was sent: %+v; there is %q", r, b.line())
	}
	return r.line.text
}

// unsent fails if the line came to an end.
func (b *bare) unsent() {
	b.Helper()
	if r, ok := b.result(); ok {
		b.Fatalf("unexpected end of the line: %+v", r)
	}
}

// line is the text with the cursor as a bar.
func (b *bare) line() string {
	e := b.f.ed
	return string(e.line[:e.pos]) + "|" + string(e.line[e.pos:])
}

// shows fails unless the screen's last rows are these.
func (b *bare) shows(rows ...string) {
	b.Helper()
	got := b.term.screen()
	if b.term.err != nil {
		b.Errorf("the terminal: %v", b.term.err)
	}
	if len(got) < len(rows) || strings.Join(got[len(got)-len(rows):], "\n") != strings.Join(rows, "\n") {
		b.Errorf("the screen shows\n%s\nwant at its end\n%s", strings.Join(got, "\n"), strings.Join(rows, "\n"))
	}
}

// wrote is what was written since the last call.
func (b *bare) wrote() string {
	defer b.bytes.Reset()
	return b.bytes.String()
}
