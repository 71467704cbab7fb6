package prompt

import (
	"strings"
	"testing"
	"unicode"
)

func newVi(t *testing.T, history ...string) *bare {
	t.Helper()
	b := newBare(t, history, func(o *Options) { o.ViKeys = true })
	b.read("")
	return b
}

// Each line is typed, left with Esc, and then edited with vi's commands. ^ in
// them is Esc; the result has the cursor before the character it stands on.
func TestViCommandsEditTheLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, commands, want string }{
		{"abc", "", "ab|c"},
		{"abc", "h", "a|bc"}, {"abc", "2h", "|abc"}, {"abc", "9h", "|abc"}, {"abc", "0l", "a|bc"},
		{"abc", "09l", "ab|c"}, {"a日b", "h", "a|日b"}, {"one two-three", "0w", "one |two-three"},
		{"one two-three", "02w", "one two|-three"}, {"one two-three four", "02W", "one two-three |four"},
		{"one two-three", "b", "one two-|three"}, {"one two-three", "2b", "one two|-three"},
		{"one two-three", "B", "one |two-three"}, {"one two", "9b", "|one two"}, {"one two", "0e", "on|e two"},
		{"one two-x", "02e", "one tw|o-x"}, {"one two-x y", "02E", "one two-|x y"}, {"  abc", "0", "|  abc"},
		{"  abc", "^^", "  |abc"}, {"abc", "0$", "ab|c"}, {"a.b.c.d", "0f.", "a|.b.c.d"},
		{"a.b.c.d", "02f.", "a.b|.c.d"}, {"a.b.c.d", "0f.;", "a.b|.c.d"}, {"a.b.c.d", "0f.;;,", "a.b|.c.d"},
		{"a.b.c.d", "F.", "a.b.c|.d"}, {"a.b.c.d", "T.", "a.b.c.|d"}, {"a.b.c.d", "T.h;", "a.b.|c.d"},
		{"ab.cd.e", "0t.", "a|b.cd.e"}, {"ab.cd.e", "0t.;", "ab.c|d.e"}, {"abc", "0fx", "|abc"}, {"abc", "0;", "|abc"},
		{"abc", "0x", "|bc"}, {"abcd", "02x", "|cd"}, {"abcd", "x", "ab|c"}, {"abcd", "X", "ab|d"},
		{"abcd", "2X", "a|d"}, {"e\u0301x", "0x", "|x"}, {"one two", "0wD", "one| "}, {"one two", "0wCx^", "one |x"},
		{"one two", "0ddp", "|one two"}, {"one two three", "0dw", "|two three"}, {"one two three", "02dw", "|three"},
		{"one two three", "0d2w", "|three"}, {"one two three", "db", "one two |e"}, {"one two", "0de", "| two"},
		{"a.b.c", "0df.", "|b.c"}, {"a.b.c", "0dt.", "|.b.c"}, {"a.b.c", "dF.", "a.b|c"}, {"one two", "0d$", "|"},
		{"one two", "d0", "|o"}, {"one two", "0dl", "|ne two"}, {"one two", "0cwx^", "|x two"},
		{"a bc", "0cwx^", "|x bc"}, {"one two", "0c2wx^", "|x"}, {"one two", "ccx^", "|x"}, {"one two", "0wSx^", "|x"},
		{"abc", "0sX^", "|Xbc"}, {"abc", "02sX^", "|Xc"}, {"one two", "0ywP", "one| one two"},
		{"one two", "0yw$p", "one twoone| "}, {"ab", "0xp", "b|a"}, {"ab", "0x3p", "baa|a"},
		{"one", "yyp", "one\n|one"}, {"one", "yyP", "|one\none"}, {"abc", "0rx", "|xbc"}, {"abc", "03rx", "xx|x"},
		{"abc", "04rx", "|abc"}, {"abc", "0r日", "|日bc"}, {"abc", "0~", "A|bc"}, {"aBc", "03~", "Ab|C"},
		{"été", "03~", "ÉT|É"}, {"abc", "0iX^", "|Xabc"}, {"abc", "0aX^", "a|Xbc"}, {"abc", "0AX^", "abc|X"},
		{"abc", "IX^", "|Xabc"}, {"  abc", "IX^", "  |Xabc"}, {"abc", "0xxu", "|bc"}, {"abc", "0xx2u", "|abc"},
		{"abc", "ddu", "ab|c"}, {"abc", "uu", "|"}, {"abc", "0d^x", "|bc"}, {"abc", "02^x", "|bc"},
		{"abc", "0dzx", "|bc"}, {"abc", "dh", "a|c"}, {"one\ntwo\nthree", "k", "one\ntw|o\nthree"},
		{"one\ntwo\nthree", "2kdd", "|two\nthree"}, {"one\ntwo\nthree", "2k2dd", "|three"},
		{"one\ntwo\nthree", "dd", "one\n|two"}, {"one\ntwo\nthree", "dk", "|one"},
		{"one\ntwo\nthree", "2kdj", "|three"}, {"one\ntwo\nthree", "2kyjP", "|one\ntwo\none\ntwo\nthree"},
		{"one\ntwo", "kddp", "two\n|one"}, {"one\ntwo", "k0dw", "|\ntwo"}, {"one\ntwo", "k$l", "on|e\ntwo"},
		{"one\n\ntwo", "kdd", "one\n|two"},
		{"one\ntwo", "kj", "one\ntw|o"},
		{"abcdef", "0x..", "|def"}, {"abcdef", "02x.", "|ef"}, {"abcdef", "0x3.", "|ef"}, {"abcdefg", "0x2..", "|fg"},
		{"one two three", "0dw.", "|three"}, {"a b c d e f g", "0d2w.", "|e f g"}, {"a b c d e f g", "0d2w3.", "|f g"},
		{"a b c d e f g", "02d2w1.", "|f g"}, {"one two three", "0cwX^w.", "X |X three"}, {"one two", "0iX^l.", "X|Xone two"},
		{"a.b.c.d", "0df..", "|c.d"}, {"abc", "0rxl.", "x|xc"}, {"abc", "0rxl2.", "xx|x"}, {"abcd", "0~.", "AB|cd"},
		{"ab", "0xp.", "ba|a"}, {"abc", "0xyw.", "|c"}, {"abcd", "0xu.", "|bcd"}, {"abc", ".", "ab|c"}, {"a b", "0AX\x7fY^.", "a bY|Y"},
		{"one two", "0ccone^.", "on|e"}, {"abcdef", "0x$.", "bcd|e"}, {"one\ntwo\nthree", "2kdd.", "|three"}, {"a b c", "0ca", "|a b c"},
		{"abc", "\x1b[D", "a|bc"}, {"abc", "0\x1b[F", "ab|c"}, {"abc", "\x7f\x7f", "|abc"},
	} {
		b := newVi(t)
		b.keys(pasteBegin+tt.text+pasteEnd, "\x1b")
		for part := range strings.SplitAfterSeq(tt.commands, "^") {
			keys, escape := strings.CutSuffix(part, "^")
			if escape && strings.HasPrefix(tt.text, "  ") && part == "^" && keys == "" { // the motion
				b.keys("^")
				continue
			}
			b.keys(keys)
			if escape {
				b.keys("\x1b")
			}
		}
		if got := b.line(); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.text, tt.commands, got, tt.want)
		}
		b.unsent()
	}
}

// Enter sends in both modes, and each line begins in insert mode.
func TestViHasItsModes(t *testing.T) {
	t.Parallel()
	b := newVi(t, "older", "old")
	b.keys("hx", "\x1b", "x", "\r")
	if got := b.sent(); got != "h" {
		t.Errorf("sent %q", got)
	}
	b.read("")
	b.keys("x", "\x1b", "k", "k")
	if b.line() != "ol|d" {
		t.Errorf("history gave %q", b.line())
	}
	b.keys("\x03", "new") // a new line after a cleared one begins in insert mode too
	if b.line() != "new|" {
		t.Errorf("after Ctrl-C there is %q", b.line())
	}
	b.keys("\x1b", "kkjA!", "\r")
	if got := b.sent(); got != "old!" {
		t.Errorf("sent %q", got)
	}
}

// Esc leads to normal mode first; only then two of them clear the line.
func TestEscapeEndsViInsertMode(t *testing.T) {
	t.Parallel()
	b := newVi(t)
	b.keys("text", "\x1b", "\x1b")
	b.shows("you: text")
	b.keys("d", "\x1b") // ends the command only
	b.shows("you: text")
	b.keys("\x1b", "\x1b")
	b.shows("you:")
	b.unsent()
}

func TestViSearchesTheHistory(t *testing.T) {
	t.Parallel()
	b := newVi(t, "go vet", "go test")
	b.keys("x", "\x1b", "/ve")
	b.shows("(search 've'): go vet")
	b.keys("\r")
	b.unsent()
	if b.line() != "go |vet" {
		t.Errorf("there is %q", b.line())
	}
	b.keys("dw", "\r")
	if got := b.sent(); got != "go " {
		t.Errorf("sent %q", got)
	}
}

// A question is answered in insert mode, whatever the message was in.
func TestViAnswersAreTyped(t *testing.T) {
	t.Parallel()
	b := newVi(t)
	b.keys("text", "\x1b")
	b.f.finish(result{})
	b.ask()
	b.silence(quiet)
	b.keys("n", "o", "\r")
	if got := b.sent(); got != "no" {
		t.Errorf("answered %q", got)
	}
	b.read("")
	b.keys("x", "\r")
	if got := b.sent(); got != "tex" {
		t.Errorf("sent %q", got)
	}
}

// Whatever is typed, the cursor stays in the text, and nothing takes long.
func FuzzVi(f *testing.F) {
	f.Add("one two\nthree", "2dwpux9999p0rx3~cwab")
	f.Add("日本語 e\u0301", "fxF日;,tTddyyPkj^$")
	f.Fuzz(func(t *testing.T, text, commands string) {
		if len(text) > 200 || len(commands) > 60 {
			return
		}
		b := newBare(t, nil, func(o *Options) { o.ViKeys = true })
		b.read("")
		b.keys(pasteBegin+cleanPaste([]byte(text))+pasteEnd, "\x1b")
		for _, r := range commands {
			if unicode.IsControl(r) || len(b.f.ed.Runes()) > 10_000 {
				continue
			}
			b.keys(string(r))
		}
		b.unsent()
		if b.term.Err != nil {
			t.Fatal(b.term.Err)
		}
	})
}
