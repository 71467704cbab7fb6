package prompt

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/ui/prompt/prompttest"
)

// Where the cursor stands after Home and n times Right, for texts whose cells
// are known: each digit is the width of one character, one press each.
func TestTheCursorStandsOnItsCell(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, widths string }{
		{"abc", "111"}, {"日本語", "222"}, {"a日b", "121"}, {"한국어", "222"}, {"ひらがな", "2222"}, {"カタカナ", "2222"},
		{"ｶﾀｶﾅ", "1111"}, {"，。！？", "2222"}, {"「あ」", "222"}, {"（a）", "212"}, {"：；", "22"}, {"ＡＢ", "22"},
		{"中文，标点。", "222222"}, {"㈱", "2"}, {"〒〓", "22"}, {"👍", "2"}, {"a👍b", "121"}, {"🎉🎊", "22"}, {"🚀 go", "2111"},
		{"⌚", "2"}, {"😀😀😀", "222"}, {"🇫🇷🇩🇪", "22"}, {"👍🏽x", "21"}, {"e\u0301", "1"}, {"e\u0301e\u0301x", "111"},
		{"a\u0308o\u0308", "11"}, {"ñn\u0303", "11"}, {"กข", "11"}, {"ย\u0e34น", "11"}, {"\u05e9\u05c1ל", "11"},
		{"naïve", "11111"}, {"Ω≈ç√", "1111"}, {"привет", "111111"}, {"a\u20dd", "1"}, {"日e\u0301👍z", "2121"},
	} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(tt.text, "\x01")
		col := len("you: ")
		for i := 0; ; i++ {
			if b.term.Row != 0 || b.term.Col != col {
				t.Errorf("%q: %d to the right the cursor is in %d,%d, want column %d", tt.text, i, b.term.Row,
					b.term.Col, col)
			}
			if i == len(tt.widths) {
				break
			}
			col += int(tt.widths[i] - '0')
			b.keys("\x1b[C")
		}
		b.shows("you: " + tt.text)
		for range tt.widths {
			b.keys("\x7f")
		}
		b.shows("you:")
		if b.line() != "|" {
			t.Errorf("%q: %d times Backspace left %q", tt.text, len(tt.widths), b.line())
		}
	}
}

// The last column stays free, so a row has one cell less than the terminal; a
// wide character that does not fit stands in the next row, and the cursor before
// it too.
func TestTheCursorOfWrappedRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text     string
		left     int
		row, col int
	}{
		{"abcdefg", 0, 1, 0}, {"abcdefg", 1, 0, 8}, {"abcdefgh", 1, 1, 0}, {"abcdefgh", 0, 1, 1},
		{"日本語日", 0, 1, 2}, {"日本語日", 1, 1, 0}, {"日本語日", 2, 0, 6}, {"日本語日本語日本", 1, 2, 0}, {"日本語日本語日本", 2, 1, 6},
		{"abcdef👍", 1, 1, 0}, {"abcdef👍", 2, 0, 7}, {"abcde👍", 1, 0, 7}, {"abcde👍", 0, 1, 0},
		{"abcdefe\u0301", 1, 0, 8}, {"abcdefge\u0301", 1, 1, 0}, {"abcdef👨‍👩‍👧", 1, 1, 0}, {"abcdef👨‍👩‍👧x", 1, 1, 2},
		{"abcdef👨‍👩‍👧x", 2, 1, 0}, {"ab\nabcdef日", 1, 2, 0}, {"ab\nabcdef日", 2, 1, 7},
	} {
		b := newBare(t, nil, nil)
		b.term = prompttest.New(10, 8)
		b.f.canvas.out = writes(b.term)
		b.start(&request{label: Label{Text: "> "}})
		b.keys(pasteBegin + tt.text + pasteEnd)
		for range tt.left {
			b.keys("\x1b[D")
		}
		if b.term.Row != tt.row || b.term.Col != tt.col {
			t.Errorf("%q, %d left of the end: the cursor is in %d,%d, want %d,%d", tt.text, tt.left, b.term.Row,
				b.term.Col, tt.row, tt.col)
		}
	}
}

// A character typed into the middle of a cluster joins with its neighbours.
func TestCharactersThatJoin(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.keys(pasteBegin+"\u200d👩 end"+pasteEnd, "\x01", "👨")
	cells := strings.Join(b.term.Cells[0], "")
	if want := "you: 👨\u200d👩 end"; strings.TrimRight(cells, " ") != want {
		t.Errorf("shown as %q, want %q", cells, want)
	}
	b.keys("\x05")
	if b.term.Col != 11 {
		t.Errorf("the end is in column %d", b.term.Col)
	}
}

// Through the editor and the screen a key costs as little as in the frame.
func Test300KeysCostLittle(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.read("")
	b.wrote()
	total := 0
	for i := range 300 {
		b.keys(string(rune('a' + i%26)))
		n := len(b.wrote())
		if total += n; n > 40 {
			t.Errorf("key %d cost %d bytes", i, n)
		}
	}
	if total >= 12_000 {
		t.Errorf("300 keys cost %d bytes", total)
	}
}

func TestCtrlLKeepsTheScrollback(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, nil)
	b.f.screen.Line("an earlier line")
	b.read("")
	b.keys("text", "\x0c")
	if got := b.term.Screen(); len(got) != 1 || got[0] != "you: text" || b.term.Row != 0 {
		t.Errorf("the screen shows %q", got)
	}
	if !strings.Contains(strings.Join(b.term.Scrolled, "\n"), "an earlier line") {
		t.Errorf("scrolled off: %q", b.term.Scrolled)
	}
}

// Spoken, typing at the end echoes the character and Backspace its erasure.
func TestOnlyTheChangeIsEchoed(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) {
		o.Spoken = true
		o.Env = environ("TERM=xterm-256color")
	})
	b.read("")
	if got := b.wrote(); got != pasteOn+"you: " {
		t.Errorf("the prompt wrote %q", got)
	}
	for _, tt := range []struct{ key, want string }{
		{"h", "h"}, {"é", "é"}, {"日", "日"}, {" ", " "}, {"x", "x"},
		{"\x7f", "\b\x1b[K"}, {"\x7f", "\b\x1b[K"}, {"\x7f", "\b\b\x1b[K"}, {"\x7f", "\b\x1b[K"}, {"i", "i"},
	} {
		b.keys(tt.key)
		if got := b.wrote(); got != tt.want {
			t.Errorf("%q wrote %q, want %q", tt.key, got, tt.want)
		}
	}
	b.keys("\x1b", "\x1b") // a cleared line stays as it was read
	if got := b.wrote(); strings.ContainsAny(got, "\r") || strings.Contains(got, "\x1b[J") ||
		!strings.HasSuffix(got, pasteOn+"you: ") {
		t.Errorf("Esc Esc wrote %q", got)
	}
	b.keys("more", "\x1b[Z")
	if got := b.wrote(); strings.Contains(got, "\x1b[J") || strings.Contains(got, "\r") {
		t.Errorf("Shift-Tab wrote %q", got)
	}
}

func TestMarksOnlyWhereTheyAreUnderstood(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		env  []string
		want bool
	}{
		{[]string{"TERM=xterm-256color"}, false}, {[]string{"TERM=xterm-256color", "VTE_VERSION=7600"}, true},
		{[]string{"TERM=xterm-256color", "TERM_PROGRAM=iTerm.app"}, true}, {[]string{"TERM=xterm-kitty"}, true},
		{[]string{"TERM=foot"}, true}, {[]string{"TERM=alacritty"}, true},
		{[]string{"TERM=xterm-256color", "ALACRITTY_WINDOW_ID=1"}, true}, {nil, false}, {[]string{"TERM=dumb"}, false}, {[]string{"TERM=unknown"}, false},
		{[]string{"TERM=linux"}, false}, {[]string{"TERM=vt100"}, false}, {[]string{"TERM=vt220"}, false},
		{[]string{"TERM=screen-256color"}, false}, {[]string{"TERM=tmux-256color"}, false},
		{[]string{"TERM=eterm-color"}, false}, {[]string{"TERM=xterm", "INSIDE_EMACS=29.4,vterm"}, false},
		{[]string{"TERM=xterm", "TERM_PROGRAM=Apple_Terminal"}, false}, {[]string{"TERM=dumb", "TERM_PROGRAM=iTerm.app"}, false},
		{[]string{"TERM=xterm", "VTE_VERSION=4999"}, false}, {[]string{"TERM=xterm", "VTE_VERSION=x"}, false},
		{[]string{"TERM=xterm", "WT_SESSION=1-2-3"}, true}, {[]string{"TERM=xterm-kitty", "INSIDE_EMACS=29,comint"}, false},
		{[]string{"TERM=xterm", "TMUX=/tmp/tmux-1/default,1,0"}, false}, {[]string{"TERM=xterm", "STY=1.pts"}, false},
	} {
		for _, spoken := range []bool{false, true} {
			b := newBare(t, nil, func(o *Options) { o.Env, o.Spoken = environ(tt.env...), spoken })
			b.read("")
			if got := strings.Contains(b.wrote(), "\x1b]133;"); got != (tt.want && !spoken) {
				t.Errorf("%q, spoken %v: marks %v", tt.env, spoken, got)
			}
			if got := b.term.Coded == 1; got != (tt.want && !spoken) {
				t.Errorf("%q, spoken %v: keys by number %v", tt.env, spoken, got)
			}
			if b.term.Col != 5 {
				t.Errorf("%q: the cursor stands in column %d", tt.env, b.term.Col)
			}
		}
	}
	b := newBare(t, nil, nil) // no environment was given
	b.read("")
	if len(b.term.Marks) > 0 {
		t.Errorf("marks %q", b.term.Marks)
	}
}

// A stands before each prompt, B where typing begins, C where the output does,
// D where it ended, with its exit status if that is known.
func TestMarksStandInTheirPlaces(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) { o.Env = environ("TERM=xterm-kitty") })
	b.f.interrupt = nil
	step := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, b.term.Marks); diff != "" {
			t.Error(diff)
		}
		b.term.Marks = nil
		if b.term.Err != nil {
			t.Error(b.term.Err)
		}
	}
	b.read("")
	step("A 0,0", "B 0,5")
	b.keys("one")
	step()
	b.keys("\r")
	step("C 1,0")
	b.ask() // has no marks
	b.silence(quiet)
	b.keys("n", "\r")
	step()
	b.f.turned(true)
	b.read("initial")
	step("D;0 2,0", "A 2,0", "B 2,5")
	b.shows("you: initial")
	b.keys("\x03") // nothing came of it
	step("A 3,0", "B 3,5")
	b.keys("two", "\r")
	b.f.turned(false)
	b.read("")
	step("C 4,0", "D;1 4,0", "A 4,0", "B 4,5")
	b.keys("/help", "\r")
	b.read("")
	step("C 5,0", "D 5,0", "A 5,0", "B 5,5")
	b.keys("text", "\x1b[Z")
	b.read("text")
	step("A 5,0", "B 5,5") // the same prompt, drawn again
	if b.term.Col != 9 {
		t.Errorf("the cursor stands in column %d", b.term.Col)
	}
}

// Keys are reported by number only while a line is read: not during output, an
// action, a suspension, a crash or the end.
func TestKeysByNumberOnlyWhileALineIsRead(t *testing.T) {
	t.Parallel()
	b := newBare(t, nil, func(o *Options) { o.Env = environ("TERM=xterm-kitty") })
	depth := func(when string, want int) {
		t.Helper()
		if b.term.Coded != want || b.term.Err != nil {
			t.Errorf("%s: %d, %v", when, b.term.Coded, b.term.Err)
		}
	}
	b.read("")
	depth("at the prompt", 1)
	b.keys("one", "\x1b[13;2u", "two")
	b.f.above(func() { depth("while something is printed above", 0) })
	depth("below it", 1)
	b.f.stop = func() bool { depth("while it is stopped", 0); return true }
	b.f.complain(b.f.release())
	depth("for a child process", 0)
	b.f.complain(b.f.reclaim())
	b.keys("\x1b[97:65;5u", "0", "\r")
	depth("in a turn", 0)
	if got := b.sent(); got != "one\n0two" {
		t.Errorf("sent %q", got)
	}
	b.ask()
	depth("at a question", 1)
	b.keys("\x1b[99;5u")
	if r, ok := b.result(); !ok || r.err != ErrInterrupted {
		t.Errorf("Ctrl-C gave %+v, %v", r, ok)
	}
	depth("after Ctrl-C", 0)
	b.read("")
	b.f.abandon()
	depth("after a crash", 0)
}

// A paste without its end becomes text after two seconds, or at Ctrl-C; later keys
// are keys.
func TestTheKeyboardComesBack(t *testing.T) {
	t.Parallel()
	for how, ctrlC := range map[string]string{"silence": "", "Ctrl-C": "\x03", "Ctrl-C by number": "\x1b[99;5u"} {
		b := newBare(t, nil, nil)
		b.read("")
		b.keys(pasteBegin+"lost ", "end\r")
		b.silence(pasteWait - time.Millisecond)
		b.shows("you:")
		if how == "silence" {
			b.silence(pasteWait)
			b.shows("you: lost end")
			b.keys("!", "\r")
			if got := b.sent(); got != "lost end!" {
				t.Errorf("sent %q", got)
			}
			continue
		}
		b.keys(ctrlC) // and clears it
		b.shows("you: lost end^C", "you:")
		b.keys("free", "\r")
		if got := b.sent(); got != "free" {
			t.Errorf("sent %q", got)
		}
	}
}

// Each key of the table, cut at every byte into two reads, has the same effect on a
// line as in one read.
func TestKeysCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, k := range keyTable {
		switch k.want {
		case keySuspend, keyInterrupt, keyEOF, keyEnter, keyMode, keyOutput, keyEdit:
			continue // they end the line: TestBytesBecomeKeys cuts them
		}
		var want string
		for i := 0; i <= len(k.bytes); i++ {
			b := newBare(t, []string{"older", "two\nlines"}, nil)
			b.read("")
			b.keys("one two\x1b[D")
			for _, part := range []string{k.bytes[:i], k.bytes[i:]} {
				b.f.take(chunk{data: []byte(part), at: b.now})
			}
			got := fmt.Sprintf("%s search %v", b.line(), b.f.search != nil)
			if i == 0 {
				want = got
			} else if got != want {
				t.Errorf("%s cut at %d: %q, want %q", k.name, i, got, want)
			}
		}
	}
}
