package prompt

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/ui/prompt/prompttest"
)

func TestLayout(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		text   string
		cursor int
		cols   int
		rows   []string
		row    int
		col    int
	}{
		{"empty", "", 0, 20, []string{"> "}, 0, 2},
		{"end", "hello", 5, 20, []string{"> hello"}, 0, 7},
		{"middle", "hello", 2, 20, []string{"> hello"}, 0, 4},
		{"wraps before the last column", "abcdefgh", 8, 10, []string{"> abcdefg", "h"}, 1, 1},
		{"full row", "abcdefg", 7, 10, []string{"> abcdefg", ""}, 1, 0},
		{"lines", "ab\ncd", 5, 20, []string{"> ab", "     cd"}, 1, 7},
		{"cursor at a line's end", "ab\ncd", 2, 20, []string{"> ab", "     cd"}, 0, 4},
		{"empty last line", "ab\n", 3, 20, []string{"> ab", "     "}, 1, 5},
		{"wide", "日本語", len("日本"), 20, []string{"> 日本語"}, 0, 6},
		{"a wide one does not fit", "日本語日本", 0, 10, []string{"> 日本語", "日本"}, 0, 2},
		{"emoji", "👨‍👩‍👧x", len("👨‍👩‍👧"), 20, []string{"> 👨‍👩‍👧x"}, 0, 4},
		{"combining", "e\u0301x", len("e\u0301"), 20, []string{"> e\u0301x"}, 0, 3},
		{"tab", "a\tb", 2, 20, []string{"> a    b"}, 0, 7},
		{"absurdly narrow", "ab", 2, 0, []string{"> ", "ab", ""}, 2, 0},
	} {
		got := lay(Label{Text: "> "}, "     ", tt.text, tt.cursor, tt.cols)
		var rows []string
		for _, r := range got.rows {
			rows = append(rows, r.text)
		}
		if diff := cmp.Diff(tt.rows, rows); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		if got.row != tt.row || got.col != tt.col {
			t.Errorf("%s: cursor at %d,%d, want %d,%d", tt.name, got.row, got.col, tt.row, tt.col)
		}
	}
}

// A prompt is broken after the space that follows a word, never before it.
func TestNoRowOfAPromptBeginsWithABlank(t *testing.T) {
	t.Parallel()
	prompt := `approve: run "go test ./..." in /tmp/ … 2940? [y,n,a,A,e,p,q,?] (n) `
	for cols := 20; cols < 90; cols++ {
		l := lay(Label{Text: prompt, Keys: len("[y,n,a,A,e,p,q,?] (n) ")}, "     ", "", 0, cols)
		var all strings.Builder
		for _, r := range l.rows {
			if all.WriteString(r.text); strings.HasPrefix(r.text, " ") || r.width >= cols {
				t.Errorf("%d columns: row %q", cols, r.text)
			}
		}
		if all.String() != prompt {
			t.Errorf("%d columns: %q", cols, all.String())
		}
	}
}

// Absurd sizes neither loop nor lose the cursor.
func TestAnySizeEnds(t *testing.T) {
	t.Parallel()
	for cols := -1; cols < 12; cols++ {
		for rows := -1; rows < 4; rows++ {
			text := "日本 some\ntext\t👨‍👩‍👧 here"
			for cursor := range text {
				l := lay(Label{Text: "> "}, "     ", text, cursor, cols).clip(rows)
				if l.row < 0 || l.row >= len(l.rows) {
					t.Fatalf("%dx%d: cursor in row %d of %d", cols, rows, l.row, len(l.rows))
				}
			}
		}
	}
}

// Whatever is typed, the screen shows the layout, the cursor stands in its
// cell, and nothing above the prompt was touched.
func TestFrameTouchesOnlyItsRows(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("ab cdefgh日本ー👍é\n\n")
	for round := range 150 {
		cols, rows := 8+random.IntN(30), 4+random.IntN(8)
		term := prompttest.New(cols, rows)
		f := canvas{out: writes(term)}
		f.write("done\n")
		above := 1
		var text []rune
		for range 60 {
			switch random.IntN(8) {
			case 0:
				text = nil
			case 1:
				if len(text) > 0 {
					i := random.IntN(len(text))
					text = append(text[:i:i], text[i+1:]...)
				}
			default:
				text = slices.Insert(text, random.IntN(len(text)+1), alphabet[random.IntN(len(alphabet))])
			}
			pos := random.IntN(len(text) + 1)
			want := lay(Label{Text: "> "}, "     ", string(text), len(string(text[:pos])), cols).clip(rows - 1)
			term.Top = 1 << 30
			f.show(layout{}, want)
			checkFrame(t, round, term, want, above)
			if t.Failed() {
				return
			}
		}
		f.end("")
		if !strings.HasPrefix(term.All(), "done\n") {
			t.Fatalf("round %d: the line above was changed: %q", round, term.All())
		}
	}
}

func checkFrame(t *testing.T, round int, term *prompttest.VT, want layout, above int) {
	t.Helper()
	if term.Err != nil {
		t.Fatalf("round %d: %v", round, term.Err)
	}
	if term.Top < above {
		t.Fatalf("round %d: the cursor went up to row %d, above the prompt", round, term.Top)
	}
	first := term.Row - want.row
	for i, r := range want.rows {
		if first+i < 0 || first+i >= term.Rows {
			t.Fatalf("round %d: row %d of the prompt is off the screen", round, i)
		}
		got := strings.TrimRight(strings.Join(term.Cells[first+i], ""), " ")
		if got != strings.TrimRight(r.text, " ") {
			t.Fatalf("round %d: row %d reads %q, want %q", round, i, got, r.text)
		}
	}
	if rest := term.Screen(); len(rest) > first+len(want.rows) {
		t.Fatalf("round %d: left below the prompt: %q", round, rest[first+len(want.rows):])
	}
	if term.Col != want.col {
		t.Fatalf("round %d: cursor in column %d, want %d", round, term.Col, want.col)
	}
}

func TestResizeStartsTheRowsAnew(t *testing.T) {
	t.Parallel()
	term := prompttest.New(40, 10)
	f := canvas{out: writes(term)}
	f.write("finished line\n")
	text := strings.Repeat("x", 60)
	f.show(layout{}, lay(Label{Text: "> "}, "     ", text, len(text), 40))
	wide := lay(Label{Text: "> "}, "     ", text, len(text), 100)
	f.resized() // wider: the broken rows stay broken
	f.show(layout{}, wide)
	if term.Err != nil || term.Top > 1 {
		t.Errorf("top %d, %v", term.Top, term.Err)
	}
	if got := term.Screen()[0]; got != "finished line" {
		t.Errorf("above: %q", got)
	}
	// On a narrower terminal, whether it breaks or cuts rows, the rows above are not reached.
	var out strings.Builder
	g := canvas{out: writes(&out)}
	g.show(layout{}, lay(Label{Text: "> "}, "     ", text, len(text), 40))
	out.Reset()
	g.resized()
	if got := out.String(); got != "\r\x1b[1A\x1b[J" {
		t.Errorf("got %q", got)
	}
}

func TestPromptsBreakAtBlanks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt, text string
		cols         int
		want         []string
	}{
		{"you: ", "abc", 40, []string{"you: abc"}},
		{"Apply this change? [y,n,a,A,e,p,q,?] (n) ", "y", 40, []string{"Apply this change? ", "[y,n,a,A,e,p,q,?] (n) y"}},
		{"Run this in ~/a/very/long/path/that/does/not/fit? (n) ", "", 20,
			[]string{"Run this in ~/a/ver", "y/long/path/that/do", "es/not/fit? (n) "}},
	} {
		l := lay(Label{Text: c.prompt, Keys: len(c.prompt) - max(strings.LastIndexByte(c.prompt, '['), 0)}, "", c.text, len(c.text), c.cols)
		var rows []string
		for _, r := range l.rows {
			rows = append(rows, r.text)
		}
		if diff := cmp.Diff(c.want, rows); diff != "" {
			t.Errorf("%q in %d columns: %s", c.prompt, c.cols, diff)
		}
		last := c.want[len(c.want)-1]
		if l.row != len(c.want)-1 || l.col != len(last) {
			t.Errorf("%q: the cursor is at %d, %d", c.prompt, l.row, l.col)
		}
		if strings.Join(rows, "") != c.prompt+c.text {
			t.Errorf("%q: rows %q", c.prompt, rows)
		}
	}
}

func writes(w io.Writer) func([]byte) { return func(p []byte) { _, _ = w.Write(p) } }
