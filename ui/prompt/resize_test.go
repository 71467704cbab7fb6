package prompt

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"artoo/ui/prompt/prompttest"
)

// A row of 60 cells with one below it, in 80 columns made 40 and 80 again. tmux 3.3a
// rewraps it as this one does, except for the first row, which it moves to the
// scrollback; pyte cuts it permanently.
func TestTheTwoTerminals(t *testing.T) {
	t.Parallel()
	for rewraps, want := range map[bool]string{true: "a\n" + strings.Repeat("x", 60) + "|b",
		false: "a\n" + strings.Repeat("x", 40) + "|b"} {
		v := prompttest.New(80, 6)
		_, _ = v.Write([]byte("a\n" + strings.Repeat("x", 60) + "\nb"))
		v.Resize(40, rewraps)
		rows := 3
		if rewraps {
			rows = 4
		}
		if got := len(v.Screen()); got != rows || v.Row != rows-1 || v.Col != 1 {
			t.Errorf("rewraps %v: %q, the cursor in %d,%d", rewraps, v.Screen(), v.Row, v.Col)
		}
		v.Resize(80, rewraps)
		if got := strings.Replace(v.All(), "\nb", "|b", 1); got != want {
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
		"rich":    func(o *Options) { o.Env = environ("TERM=xterm-256color") },
		"linux":   func(o *Options) { o.Env = environ("TERM=linux") },
		"nocolor": func(o *Options) { o.Env = environ("TERM=xterm", "NO_COLOR=1") },
		"spoken":  func(o *Options) { o.Spoken = true },
	}
}

// sweep runs f for every terminal, profile and way of resizing.
func sweep(t *testing.T, f func(t *testing.T, b *bare, resize func())) {
	for profile, change := range terminals() {
		for _, rewraps := range []bool{true, false} {
			for how, sizes := range widths() {
				t.Run(fmt.Sprintf("%s/%s/rewraps=%v", profile, how, rewraps), func(t *testing.T) {
					b := newBare(t, nil, nil)
					b.term = prompttest.New(200, 12)
					b = bareOn(t, b.term, profile == "rich", change)
					for i := range 30 {
						b.f.screen.Note(fmt.Sprintf("finished %02d", i))
					}
					f(t, b, func() {
						for _, cols := range sizes {
							b.term.Resize(cols, rewraps)
							b.f.resized()
						}
					})
					if b.term.Err != nil {
						t.Error(b.term.Err)
					}
					checkFinished(t, b.term)
				})
			}
		}
	}
}

// bareOn is newBare on a terminal, with labels that stand out or without.
func bareOn(t *testing.T, term *prompttest.VT, color bool, change func(*Options)) *bare {
	t.Helper()
	b := newBare(t, nil, func(o *Options) {
		change(o)
		o.Size = func() (int, int) { return term.Cols, term.Rows }
		o.Screen = paper{term}
	})
	b.term, b.color = term, color
	return b
}

// checkFinished wants every finished line once, in order.
func checkFinished(t *testing.T, term *prompttest.VT) {
	t.Helper()
	next := 0
	for _, row := range strings.Split(term.All(), "\n") {
		if _, number, ok := strings.Cut(row, "finished "); ok {
			if want := fmt.Sprintf("%02d", next); strings.TrimSuffix(number, ".") != want {
				t.Fatalf("found line %q where %s should be:\n%s", row, want, term.All())
			}
			next++
		}
	}
	if next != 30 {
		t.Fatalf("%d of 30 finished lines are there:\n%s", next, term.All())
	}
}

func TestResizeKeepsFinishedLines(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"", "one row", strings.Repeat("words of a long entry ", 16),
		"several\nlines\n" + strings.Repeat("of text ", 30)} {
		sweep(t, func(t *testing.T, b *bare, resize func()) {
			b.read("")
			b.keys(pasteBegin + entry + pasteEnd)
			resize()
			b.keys("!")
			if last := b.term.Screen(); !strings.Contains(last[len(last)-1], "!") {
				t.Errorf("what is typed is not shown: %q", last)
			}
			b.keys("\r")
			if got, _ := b.result(); got.line.Text != entry+"!" {
				t.Errorf("sent %q", got.line.Text)
			}
		})
	}
}

// call is the subject of a question, on rows that fit the narrowest terminal.
const call = "  run make\n  first --of three\n  second --of three\n  last --of three\n"

// question prints the call and gives the label below it.
func (b *bare) question() Label {
	b.f.screen.Line(strings.TrimSuffix(call, "\n"))
	return Label{Text: `approve: run "make"? [y,n,q,?] (n) `,
		Looks: []Look{{20, "\x1b[1m"}}, Keys: len("[y,n,q,?] (n) ")}
}

// asksWhole fails unless the whole call stands right above the last question.
func (b *bare) asksWhole() {
	b.Helper()
	all := b.term.All()
	above := all[:max(strings.LastIndex(all, "approve: "), 0)]
	if !strings.HasSuffix(above, call) {
		b.Fatalf("above the question stands\n%s\nnot\n%s", above[max(len(above)-600, 0):], call)
	}
}

// After a resize the whole call stands again right above its question, and only
// later keys answer it.
func TestResizeKeepsTheQuestion(t *testing.T) {
	t.Parallel()
	sweep(t, func(t *testing.T, b *bare, resize func()) {
		b.start(&request{label: b.question(), question: true, again: b.question})
		b.keys("n")
		resize()
		b.keys("y", "\r") // typed while it moved: no answer
		b.f.askAgain()
		if got, ok := b.result(); ok {
			t.Fatalf("answered by %+v", got)
		}
		b.asksWhole()
		b.now = b.now.Add(quiet)
		b.keys("\x15", "y", "\r")
		if got, ok := b.result(); !ok || got.line.Text != "y" {
			t.Errorf("the answer is %+v, %v", got, ok)
		}
	})
}

// After fg the shell's lines are on the screen: the whole call
// stands again right above its question, once, and nothing of before is gone.
func TestAQuestionThatWasSuspendedIsShownWhole(t *testing.T) {
	t.Parallel()
	for profile, change := range terminals() {
		term := prompttest.New(40, 60)
		b := bareOn(t, term, profile == "rich", change)
		for i := range 30 {
			b.f.screen.Note(fmt.Sprintf("finished %02d", i))
		}
		b.f.stop = func() bool {
			_, _ = term.Write([]byte("$ fg\n"))
			return true
		}
		b.start(&request{label: b.question(), question: true, again: b.question})
		b.f.suspend()
		b.f.signal(syscall.SIGCONT)
		b.asksWhole()
		if _, after, ok := strings.Cut(term.All(), "$ fg"); !ok || strings.Count(after, "second --of three") != 1 {
			t.Errorf("%s: shown otherwise than once after the shell's line:\n%s", profile, term.All())
		}
		checkFinished(t, term)
		b.now = b.now.Add(quiet)
		b.keys("y", "\r")
		if got, ok := b.result(); !ok || got.line.Text != "y" {
			t.Errorf("%s: the answer is %+v, %v", profile, got, ok)
		}
	}
}

// A message that is being typed as a question comes up comes back whole.
func TestAMessageInterruptedByAQuestionIsWhole(t *testing.T) {
	t.Parallel()
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
		if got, ok := b.result(); !ok || got.line.Text != "n" {
			t.Errorf("%+v: the answer is %+v", tt, got)
		}
		b.read("")
		if got := strings.Replace(b.line(), "|", "", 1); got != tt.want {
			t.Errorf("%+v: the message is %q", tt, got)
		}
	}
}
