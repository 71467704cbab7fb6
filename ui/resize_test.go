//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/briandowns/spinner"

	"artoo/agent"
	"artoo/tool"
	"artoo/ui/screen"
)

// resize gives the terminal another width. One that rewraps (tmux, VTE) joins
// the rows that it broke itself and breaks them anew, the cursor stays on its
// character, and rows beyond the top go to the scrollback. One that does not
// (xterm, the Linux console) cuts what is too wide, for good, and leaves every
// row where it was.
func (v *vt) resize(cols int, rewraps bool) {
	if !rewraps {
		for i, cells := range v.cells {
			v.cells[i] = fit(cells, cols)
		}
		v.cols, v.col, v.pending = cols, min(v.col, cols-1), false
		return
	}
	var rows [][]string // what the terminal ever showed, broken anew
	row, col := 0, 0    // of the cursor
	wraps := map[int]bool{}
	var joined []string
	old := append(v.history(), v.cells...)
	cursor := len(v.scrolled) + v.row
	for i, cells := range old {
		if i == cursor {
			row, col = len(rows)+(len(joined)+v.col)/cols, (len(joined)+v.col)%cols
		}
		joined = append(joined, cells...)
		if v.wraps[i] {
			continue
		}
		joined = trimmed(joined)
		for first := true; first || len(joined) > 0; first = false {
			n := min(len(joined), cols)
			rows = append(rows, fit(joined[:n], cols))
			if joined = joined[n:]; len(joined) > 0 {
				wraps[len(rows)-1] = true
			}
		}
		joined = nil
	}
	for len(rows) > row+1 && len(trimmed(rows[len(rows)-1])) == 0 {
		rows = rows[:len(rows)-1]
	}
	for len(rows) < row+1 || len(rows) < v.rows {
		rows = append(rows, fit(nil, cols))
	}
	top := max(len(rows)-v.rows, 0)
	v.scrolled = nil
	for _, cells := range rows[:top] {
		v.scrolled = append(v.scrolled, strings.Join(trimmed(cells), ""))
	}
	v.cells, v.wraps = rows[top:], wraps
	v.cols, v.row, v.col, v.pending = cols, row-top, min(col, cols-1), false
}

// history is the scrollback as cells.
func (v *vt) history() [][]string {
	var rows [][]string
	for i, text := range v.scrolled {
		cells := strings.Split(text, "")
		if v.wraps[i] {
			cells = fit(cells, v.cols)
		}
		rows = append(rows, cells)
	}
	return rows
}

func fit(cells []string, cols int) []string {
	row := append(make([]string, 0, cols), cells[:min(len(cells), cols)]...)
	for len(row) < cols {
		row = append(row, " ")
	}
	return row
}

func trimmed(cells []string) []string {
	n := len(cells)
	for n > 0 && cells[n-1] == " " {
		n--
	}
	return cells[:n]
}

// A row of 60 cells with one below it, in 80 columns made 40 and 80 again. tmux 3.3a
// rewraps it as this one does, but for the first row, which it moves to the
// scrollback; pyte cuts it, for good.
func TestTheTwoTerminals(t *testing.T) {
	for rewraps, want := range map[bool]string{true: "a\n" + strings.Repeat("x", 60) + "|b",
		false: "a\n" + strings.Repeat("x", 40) + "|b"} {
		v := newVT(80, 6)
		_, _ = v.Write([]byte("a\n" + strings.Repeat("x", 60) + "\nb"))
		v.resize(40, rewraps)
		rows := 3
		if rewraps {
			rows = 4
		}
		if got := len(v.screen()); got != rows || v.row != rows-1 || v.col != 1 {
			t.Errorf("rewraps %v: %q, the cursor in %d,%d", rewraps, v.screen(), v.row, v.col)
		}
		v.resize(80, rewraps)
		if got := strings.Replace(v.all(), "\nb", "|b", 1); got != want {
			t.Errorf("rewraps %v: %q, want %q", rewraps, got, want)
		}
	}
}

// widths are how a window is dragged from wide to narrow and back, and how it
// jumps.
func widths() map[string][]int {
	var steps []int
	for w := 199; w >= 20; w-- {
		steps = append(steps, w)
	}
	for w := 21; w <= 200; w++ {
		steps = append(steps, w)
	}
	return map[string][]int{"dragged": steps, "jumping": {41, 200, 20, 120, 33, 80, 20, 200}, "once": {41}}
}

// terminals are the profiles that draw a prompt, by name.
func terminals() map[string]func(*Options) {
	return map[string]func(*Options){
		"rich":    func(o *Options) { o.Environ = []string{"TERM=xterm-256color"} },
		"linux":   func(o *Options) { o.Environ = []string{"TERM=linux"} },
		"nocolor": func(o *Options) { o.Environ = []string{"TERM=xterm", "NO_COLOR=1"} },
		"spoken":  func(o *Options) { o.Profile = screen.Spoken },
	}
}

// sweep runs f for every terminal, profile and way of resizing.
func sweep(t *testing.T, f func(t *testing.T, b *bare, resize func())) {
	for profile, change := range terminals() {
		for _, rewraps := range []bool{true, false} {
			for how, sizes := range widths() {
				t.Run(fmt.Sprintf("%s/%s/rewraps=%v", profile, how, rewraps), func(t *testing.T) {
					b := newBare(t, nil, nil)
					b.term = newVT(200, 12)
					b = bareOn(t, b.term, profile == "rich", change)
					for i := range 30 {
						b.f.screen.Note(fmt.Sprintf("finished %02d", i))
					}
					f(t, b, func() {
						for _, cols := range sizes {
							b.term.resize(cols, rewraps)
							b.f.resized()
						}
					})
					if b.term.err != nil {
						t.Error(b.term.err)
					}
					checkFinished(t, b.term)
				})
			}
		}
	}
}

// bareOn is newBare on a terminal, with colours or without.
func bareOn(t *testing.T, term *vt, color bool, change func(*Options)) *bare {
	t.Helper()
	b := newBare(t, nil, func(o *Options) {
		change(o)
		o.Size = func() (int, int) { return term.cols, term.rows }
	})
	b.term = term
	b.f.screen = screen.New(screen.Options{
		Out: io.Discard, Err: term, ErrTTY: true, ErrColor: color, Conversation: true, Profile: profileOf(b), UTF8: true,
		Width: func() int { return term.cols }, Now: func() time.Time { return b.now },
		After: func(time.Duration, func()) (stop func()) { return func() {} },
	})
	b.f.frame.out = drawer{b.f.screen}
	return b
}

func profileOf(b *bare) screen.Profile {
	if b.f.spoken {
		return screen.Spoken
	}
	return screen.Rich
}

// checkFinished wants every finished line once, in order.
func checkFinished(t *testing.T, term *vt) {
	t.Helper()
	next := 0
	for _, row := range strings.Split(term.all(), "\n") {
		if _, number, ok := strings.Cut(row, "finished "); ok {
			if want := fmt.Sprintf("%02d", next); strings.TrimSuffix(number, ".") != want {
				t.Fatalf("found line %q where %s should be:\n%s", row, want, term.all())
			}
			next++
		}
	}
	if next != 30 {
		t.Fatalf("%d of 30 finished lines are there:\n%s", next, term.all())
	}
}

func TestResizeKeepsFinishedLines(t *testing.T) {
	for _, entry := range []string{"", "one row", strings.Repeat("words of a long entry ", 16),
		"several\nlines\n" + strings.Repeat("of text ", 30)} {
		sweep(t, func(t *testing.T, b *bare, resize func()) {
			b.read("")
			b.keys(pasteBegin + entry + pasteEnd)
			resize()
			b.keys("!")
			if last := b.term.screen(); !strings.Contains(last[len(last)-1], "!") {
				t.Errorf("what is typed is not shown: %q", last)
			}
			b.keys("\r")
			if got, _ := b.result(); got.line.text != entry+"!" {
				t.Errorf("sent %q", got.line.text)
			}
		})
	}
}

// After a resize the whole call stands again right above its question, and only
// what is typed then answers it.
func TestResizeKeepsTheQuestion(t *testing.T) {
	command := agent.Call{Access: tool.Access{Kind: tool.KindRun, Verb: "run", Object: "make",
		Command: "first --of three\nsecond --of three\nlast --of three", Dir: "/p"}}
	change := agent.Call{Access: tool.Access{Kind: tool.KindWrite, Verb: "edit", Object: "a.go",
		Diff: "--- a/a.go\n+++ b/a.go\n@@ -1,2 +1,2 @@\n first\n-second\n+last", Added: 1, Removed: 1}}
	for name, call := range map[string]agent.Call{"command": command, "diff": change} {
		sweep(t, func(t *testing.T, b *bare, resize func()) {
			q := agent.Question{Kind: agent.QuestionApproval, Call: call, Number: 1, Of: 1}
			again := func() string { return b.f.screen.Question(q) }
			b.start(&lineRequest{prompt: again(), question: true, again: again})
			b.keys("n")
			resize()
			b.keys("y", "\r") // typed while it moved: no answer
			b.f.askAgain()
			if got, ok := b.result(); ok {
				t.Fatalf("answered by %+v", got)
			}
			all := b.term.all()
			at := strings.LastIndex(all, "approve: ")
			whole := screenOf(t, b, q, b.term.cols)
			above := strings.TrimRight(all[:max(at, 0)], "\n")
			if !strings.HasSuffix(above, whole) {
				t.Fatalf("%s: above the question stands\n%s\nnot\n%s", name, above[max(len(above)-600, 0):], whole)
			}
			b.now = b.now.Add(quiet)
			b.keys("\x15", "y", "\r")
			if got, ok := b.result(); !ok || got.line.text != "y" {
				t.Errorf("the answer is %+v, %v", got, ok)
			}
		})
	}
}

// Whoever comes back with fg has the shell's lines on the screen: the whole call
// stands again right above its question, once, and nothing of before is gone.
func TestAQuestionThatWasSuspendedIsShownWhole(t *testing.T) {
	call := agent.Call{Access: tool.Access{Kind: tool.KindRun, Verb: "run", Object: "make",
		Command: "first --of three\nsecond --of three\nlast --of three", Dir: "/p"}}
	q := agent.Question{Kind: agent.QuestionApproval, Call: call, Number: 1, Of: 1}
	for profile, change := range terminals() {
		term := newVT(40, 60)
		b := bareOn(t, term, profile == "rich", change)
		for i := range 30 {
			b.f.screen.Note(fmt.Sprintf("finished %02d", i))
		}
		b.f.stop = func() bool {
			_, _ = term.Write([]byte("$ fg\n"))
			return true
		}
		again := func() string { return b.f.screen.Question(q) }
		b.start(&lineRequest{prompt: again(), question: true, again: again})
		b.f.suspend()
		b.f.signal(syscall.SIGCONT)
		all := term.all()
		at := strings.LastIndex(all, "approve: ")
		above := strings.TrimRight(all[:max(at, 0)], "\n")
		if whole := screenOf(t, b, q, term.cols); !strings.HasSuffix(above, whole) {
			t.Errorf("%s: above the question stands\n%s\nnot\n%s", profile, above, whole)
		}
		if _, after, ok := strings.Cut(all, "$ fg"); !ok || strings.Count(after, "second --of three") != 1 {
			t.Errorf("%s: shown otherwise than once after the shell's line:\n%s", profile, all)
		}
		checkFinished(t, term)
		b.now = b.now.Add(quiet)
		b.keys("y", "\r")
		if got, ok := b.result(); !ok || got.line.text != "y" {
			t.Errorf("%s: the answer is %+v, %v", profile, got, ok)
		}
	}
}

// screenOf is what stands above a question on a terminal of its own.
func screenOf(t *testing.T, b *bare, q agent.Question, cols int) string {
	t.Helper()
	term := newVT(cols, 40)
	s := screen.New(screen.Options{
		Out: io.Discard, Err: term, ErrTTY: true, Conversation: true, Profile: profileOf(b), UTF8: true,
		Width: func() int { return cols },
		After: func(time.Duration, func()) (stop func()) { return func() {} },
	})
	s.Question(q)
	return strings.TrimRight(strings.Join(term.screen(), "\n"), "\n")
}

// The line that may change is wiped from its own row alone.
func TestResizeKeepsLinesAboveTheSpinner(t *testing.T) {
	for _, rewraps := range []bool{true, false} {
		for how, sizes := range widths() {
			term := newVT(200, 12)
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			var wake func()
			s := screen.New(screen.Options{
				Out: term, Err: term, OutTTY: true, ErrTTY: true, Conversation: true, Profile: screen.Rich, UTF8: true,
				Width: func() int { return term.cols }, Now: func() time.Time { return now },
				After: func(_ time.Duration, f func()) func() { wake = f; return func() {} },
				Spin: func(sp *spinner.Spinner) func() {
					wake = func() { sp.PreUpdate(sp); fmt.Fprintf(sp.Writer, "\r%s|%s", sp.Prefix, sp.Suffix) }
					return func() {}
				},
			})
			for i := range 30 {
				s.Note(fmt.Sprintf("finished %02d", i))
			}
			s.OnToolCall(agent.Call{Access: tool.Access{Verb: "run", Object: strings.Repeat("long command ", 14)}})
			for _, cols := range sizes {
				now = now.Add(2 * time.Second)
				wake()
				term.resize(cols, rewraps)
			}
			now = now.Add(2 * time.Second)
			wake()
			s.Finish()
			if term.err != nil {
				t.Errorf("%s: %v", how, term.err)
			}
			checkFinished(t, term)
		}
	}
}

// A message that is being typed as a question comes up comes back whole.
func TestAMessageInterruptedByAQuestionIsWhole(t *testing.T) {
	for _, tt := range []struct{ before, after, want string }{
		{"yay always ye", "s\r", "yay always yes"}, {"", "yay always yes\r", "yay always yes"}, {"", "y\r", ""},
		{"", "no\r", ""}, {"ab", "c\x7fd", "abd"}, {"one", "\rtwo\r", "one\ntwo"},
	} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(tt.before)
		b.ask()
		b.keys(tt.after)
		b.now = b.now.Add(quiet)
		b.keys("n", "\r")
		if got, ok := b.result(); !ok || got.line.text != "n" {
			t.Errorf("%+v: the answer is %+v", tt, got)
		}
		b.read("")
		if got := strings.Replace(b.line(), "|", "", 1); got != tt.want {
			t.Errorf("%+v: the message is %q", tt, got)
		}
	}
}
