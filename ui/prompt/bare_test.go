package prompt

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/ui/prompt/prompttest"
)

// paper is a Screen that writes its texts unchanged.
type paper struct{ io.Writer }

func (p paper) Prompt(text string)  { fmt.Fprint(p, text) }
func (p paper) PromptDone()         {}
func (p paper) PromptErased()       {}
func (p paper) Draw(b []byte)       { _, _ = p.Write(b) }
func (p paper) Note(text string)    { fmt.Fprintf(p, "  %s\n", text) }
func (p paper) Trouble(text string) { fmt.Fprintf(p, "✗ %s\n", text) }
func (p paper) Line(text string)    { fmt.Fprintln(p, text) }
func (p paper) Pause()              {}
func (p paper) Resume()             {}

// environ looks variables up.
func environ(list ...string) func(string) string {
	return func(name string) string {
		for _, v := range list {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// waitLimit is how long a test waits for an event that must happen at once.
const waitLimit = 10 * time.Second

// bare is a keyboard without a terminal and without goroutines of its
// own: the test is the pump, and looks at the screen of a terminal.
type bare struct {
	testing.TB
	f     *keyboard
	term  *prompttest.VT
	bytes bytes.Buffer // all that was written
	now   time.Time
	w     *request
	kept  []string // in the history file
	color bool     // labels stand out
}

func newBare(t testing.TB, history []string, change func(*Options)) *bare {
	t.Helper()
	b := &bare{TB: t, term: prompttest.New(60, 12), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	opt := Options{
		Clock:  Clock{Now: func() time.Time { return b.now }, After: func(time.Duration) <-chan time.Time { return nil }},
		Size:   func() (int, int) { return b.term.Cols, b.term.Rows },
		Ending: Ending{Quit: func() {}},
	}
	opt.Screen = paper{io.MultiWriter(b.term, &b.bytes)}
	if change != nil {
		change(&opt)
	}
	p := &Prompt{opt: opt, in: &input{}, screen: opt.Screen, quit: make(chan struct{}), modes: &ttyModes{fd: -1}}
	p.queue.prompt = p
	b.f = newKeyboard(p, newEditor(history), func(text string) {
		if keepsHistory(text) {
			b.kept = append(b.kept, text)
		}
	})
	b.f.stop = func() bool { return true }
	p.reader, p.keys = b.f, b.f
	t.Cleanup(func() { close(p.quit) })
	return b
}

// answers reports whether a question takes the text.
func answers(text string) bool {
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(text)), " ")
	switch word {
	case "", "y", "yes", "n", "no", "a", "always", "p", "q":
		return true
	}
	return false
}

// read wants a line.
func (b *bare) read(initial string) {
	b.start(&request{label: Label{Text: "you: "}, initial: Draft{Text: initial}})
}

// ask wants the answer to a question.
func (b *bare) ask() {
	b.start(&request{label: Label{Text: "Do it? "}, question: true, isAnswer: answers})
}

func (b *bare) start(w *request) {
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

// result is the result of the wanted line; ok is false while it is wanted.
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
	if !ok || r.err != nil || r.line.Action != Send {
		b.Fatalf("no line was sent: %+v; there is %q", r, b.line())
	}
	return r.line.Text
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
	return string(e.line()[:e.Pos()]) + "|" + string(e.line()[e.Pos():])
}

// shows fails unless the screen's last rows are these.
func (b *bare) shows(rows ...string) {
	b.Helper()
	got := b.term.Screen()
	if b.term.Err != nil {
		b.Errorf("the terminal: %v", b.term.Err)
	}
	if len(got) < len(rows) || strings.Join(got[len(got)-len(rows):], "\n") != strings.Join(rows, "\n") {
		b.Errorf("the screen shows\n%s\nwant at its end\n%s", strings.Join(got, "\n"), strings.Join(rows, "\n"))
	}
}

// wrote is the output since the last call.
func (b *bare) wrote() string {
	defer b.bytes.Reset()
	return b.bytes.String()
}

// A signal of the keyboard may reach artoo after the child that it was for.
func TestALateSignalIsTheChilds(t *testing.T) {
	t.Parallel()
	died := 0
	c := &Prompt{modes: &ttyModes{fd: -1}, opt: Options{Ending: Ending{Quit: func() { died++ }}}}
	c.returned = time.Now().Add(time.Minute) // just now, however slow the test is
	c.signal(syscall.SIGQUIT)
	c.signal(syscall.SIGINT)
	if died != 0 || c.early {
		t.Errorf("died %d times, interrupt %v", died, c.early)
	}
	c.returned = time.Now().Add(-lateSignals)
	c.signal(syscall.SIGQUIT)
	if died != 1 {
		t.Errorf("later Ctrl-\\ ended it %d times", died)
	}
}
