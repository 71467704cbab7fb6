package ui

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func identity(s string) string { return s }

func TestLayout(t *testing.T) {
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
		got := place("> ", tt.text, tt.cursor, tt.cols, identity)
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

// A prompt is broken behind the blank that follows a word, never before it.
func TestNoRowOfAPromptBeginsWithABlank(t *testing.T) {
	prompt := `approve: run "go test ./..." in /tmp/ … 2940? [y,n,a,A,e,p,q,?] (n) `
	for cols := 20; cols < 90; cols++ {
		l := place(prompt, "", 0, cols, identity)
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
	for cols := -1; cols < 12; cols++ {
		for rows := -1; rows < 4; rows++ {
			text := "日本 some\ntext\t👨‍👩‍👧 here"
			for cursor := range text {
				l := place("> ", text, cursor, cols, identity).clip(rows)
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
	random := rand.New(rand.NewPCG(3, 4))
	alphabet := []rune("ab cdefgh日本ー👍é\n\n")
	for round := range 150 {
		cols, rows := 8+random.IntN(30), 4+random.IntN(8)
		term := newVT(cols, rows)
		f := frame{out: term}
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
				text = insert(text, random.IntN(len(text)+1), []rune{alphabet[random.IntN(len(alphabet))]})
			}
			pos := random.IntN(len(text) + 1)
			want := place("> ", string(text), len(string(text[:pos])), cols, identity).clip(rows - 1)
			term.top = 1 << 30
			f.show(layout{}, want)
			checkFrame(t, round, term, want, above)
			if t.Failed() {
				return
			}
		}
		f.end("")
		if !strings.HasPrefix(term.all(), "done\n") {
			t.Fatalf("round %d: the line above was changed: %q", round, term.all())
		}
	}
}

func checkFrame(t *testing.T, round int, term *vt, want layout, above int) {
	t.Helper()
	if term.err != nil {
		t.Fatalf("round %d: %v", round, term.err)
	}
	if term.top < above {
		t.Fatalf("round %d: the cursor went up to row %d, above the prompt", round, term.top)
	}
	first := term.row - want.row
	for i, r := range want.rows {
		if first+i < 0 || first+i >= term.rows {
			t.Fatalf("round %d: row %d of the prompt is off the screen", round, i)
		}
		got := strings.TrimRight(strings.Join(term.cells[first+i], ""), " ")
		if got != strings.TrimRight(r.text, " ") {
			t.Fatalf("round %d: row %d reads %q, want %q", round, i, got, r.text)
		}
	}
	if rest := term.screen(); len(rest) > first+len(want.rows) {
		t.Fatalf("round %d: left below the prompt: %q", round, rest[first+len(want.rows):])
	}
	if term.col != want.col {
		t.Fatalf("round %d: cursor in column %d, want %d", round, term.col, want.col)
	}
}

type counter struct{ n, most int }

func (c *counter) Write(p []byte) (int, error) {
	c.n += len(p)
	c.most = max(c.most, len(p))
	return len(p), nil
}

// Typing at the end writes the character and hardly more.
func TestAKeyCostsFewBytes(t *testing.T) {
	c := &counter{}
	f := frame{out: c}
	text := ""
	f.show(layout{}, place("> ", text, 0, 80, identity))
	c.n, c.most = 0, 0
	for i := range 300 {
		text += string(rune('a' + i%26))
		f.show(layout{}, place("> ", text, len(text), 80, identity))
	}
	if c.n > 1000 || c.most > 40 {
		t.Errorf("300 keys cost %d bytes, the dearest %d", c.n, c.most)
	}
}

func TestResizeStartsTheRowsAnew(t *testing.T) {
	term := newVT(40, 10)
	f := frame{out: term}
	f.write("finished line\n")
	text := strings.Repeat("x", 60)
	f.show(layout{}, place("> ", text, len(text), 40, identity))
	wide := place("> ", text, len(text), 100, identity)
	f.resized() // wider: the broken rows stay broken
	f.show(layout{}, wide)
	if term.err != nil || term.top > 1 {
		t.Errorf("top %d, %v", term.top, term.err)
	}
	if got := term.screen()[0]; got != "finished line" {
		t.Errorf("above: %q", got)
	}
	// Narrower: whether its rows were broken or cut, what is above is not reached.
	var out strings.Builder
	g := frame{out: &out}
	g.show(layout{}, place("> ", text, len(text), 40, identity))
	out.Reset()
	g.resized()
	if got := out.String(); got != "\r\x1b[1A\x1b[J" {
		t.Errorf("got %q", got)
	}
}
