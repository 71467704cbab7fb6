package prompt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func startEditor(t *testing.T, history ...string) *editor {
	t.Helper()
	return newEditor(history)
}

// typeKeys plays keys: letters are typed, and each mark names an editing key.
func typeKeys(e *editor, keys string) {
	for _, r := range keys {
		if kind, ok := keyOf(controlKeys[:], r); ok && r < 0x20 || r == 0x7f {
			e.do(kind)
		} else if kind, ok := editMarks[r]; ok {
			e.do(kind)
		} else {
			e.insert(string(r), false)
		}
	}
}

var editMarks = map[rune]keyKind{
	'←': keyLeft, '→': keyRight, '↑': keyUp, '↓': keyDown, '«': keyWordLeft, '»': keyWordRight, '⌦': keyDelete, '…': keyLastArgument,
	'ÿ': keyYankPop, 'Ü': keyUpper, 'Ł': keyLower, 'Ç': keyCapital, 'Ŧ': keyTransposeWords,
}

// Each key, from a line to the next.
func TestKeysEditTheLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keys, want string }{
		{"insert", "ac←b", "ab|c"},
		{"home and end", "bc\x01a\x05d", "abcd|"},
		{"backspace", "abc\x7f", "ab|"},
		{"backspace at the start", "ab\x01\x7f", "|ab"},
		{"delete", "abc\x01⌦", "|bc"},
		{"delete at the end", "abc⌦", "abc|"},
		{"delete on an empty line", "⌦", "|"},
		{"kill to the end", "abc←←\x0b", "a|"},
		{"kill to the start", "abc←\x15", "|c"},
		{"kill a word", "one two\x17", "one |"},
		{"kill the first word keeps the rest", "one two«←\x17", "| two"},
		{"kill takes what stands between blanks", "see a/b-c.go\x17", "see |"},
		{"kill in another script", "привет мир\x17", "привет |"},
		{"yank", "one two\x17\x01\x19", "two|one "},
		{"yank an older kill", "one two three\x17\x17\x19ÿ", "one three|"},
		{"yank around to the newest", "one two three\x17\x17\x19ÿÿ", "one two |"},
		{"no older kill after another key", "one two three\x17\x17\x19xÿ", "one two x|"},
		{"undo of a yank", "one\x17ab\x19\x1f", "ab|"},
		{"upper", "one two««Ü", "ONE| two"},
		{"lower", "ÉÀA b««Ł", "éàa| b"},
		{"capital", "oNE two««Ç", "One| two"},
		{"capital behind a word", "one two«←Ç", "one Two|"},
		{"transpose words", "one two«Ŧ", "two one|"},
		{"transpose the last words", "one, two. Ŧ", "two, one|. "},
		{"transpose one word", "oneŦ", "one|"},
		{"word left", "one two-three««x", "one x|two-three"},
		{"word in another script", "привет мир«x", "привет x|мир"},
		{"word right", "one two\x01»x", "onex| two"},
		{"transpose", "ab\x14", "ba|"},
		{"transpose in the middle", "abc←\x14", "acb|"},
		{"transpose of one", "a\x14b", "ab|"},
		{"transpose whole characters", "ae\u0301👍🏽←\x14", "a👍🏽e\u0301|"},
		{"transpose at a line's end", "abc\x0ad↑\x05\x14", "acb|\nd"},
		{"transpose at a line's start", "ab\x0acd\x01\x14", "ab\n|cd"},
		{"transpose in an empty line", "ab\x0a\x14", "ab\n|"},
		{"emoji is one", "a👨‍👩‍👧b←←x", "ax|👨‍👩‍👧b"},
		{"emoji goes whole", "a👨‍👩‍👧\x7f", "a|"},
		{"combining goes whole", "ae\u0301\x7f", "a|"},
		{"newline", "ab\x0acd", "ab\ncd|"},
		{"home in a line", "ab\x0acd\x01x", "ab\nx|cd"},
		{"up in a text", "abc\x0ade↑x", "abx|c\nde"},
		{"down in a text", "ab\x0acd↑↓x", "ab\ncdx|"},
		{"kill at a line's end joins", "ab\x0acd↑\x05\x0b", "ab|cd"},
	} {
		e := startEditor(t)
		typeKeys(e, tt.keys)
		if got := string(e.Runes()[:e.Pos()]) + "|" + string(e.Runes()[e.Pos():]); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Lines are called back as they were sent, and the unfinished line comes back.
func TestTheHistoryIsWalked(t *testing.T) {
	t.Parallel()
	e := startEditor(t, "first", "two\nlines", " blank before")
	typeKeys(e, "half")
	e.do(keyPrev)
	if e.text() != "two\nlines" && e.text() != " blank before" {
		t.Fatalf("recalled %q", e.text())
	}
	e.do(keyNext)
	if e.text() != "half" {
		t.Errorf("the line that was being typed came back as %q", e.text())
	}
	e.do(keyPrev)
	typeKeys(e, " changed")
	if !strings.HasSuffix(e.text(), " changed") {
		t.Errorf("changed to %q", e.text())
	}
	e.submit(true)
	var recalled []string
	for range 5 {
		before := e.text()
		if e.do(keyPrev); e.text() == before {
			break
		}
		recalled = append(recalled, e.text())
	}
	want := []string{" blank before changed", " blank before", "two\nlines", "first"}
	if diff := cmp.Diff(want[1:], recalled); diff != "" { // a line that begins with a space is not remembered
		t.Error(diff)
	}
}

// A big paste is one rune to edit, one label to see, and whole when sent or called back.
func TestBigPasteIsOneMark(t *testing.T) {
	t.Parallel()
	e := startEditor(t)
	big := strings.Repeat("0123456789\n", 214)
	typeKeys(e, "see ")
	e.insert(big, true)
	typeKeys(e, " ok")
	if got := e.shown(e.Runes()); got != "see [paste 1: 215 lines] ok" {
		t.Errorf("shown as %q", got)
	}
	if e.text() != "see "+big+" ok" {
		t.Error("the text is not whole")
	}
	typeKeys(e, "\x7f\x7f\x7f\x7f")
	if e.text() != "see " {
		t.Errorf("after deleting the mark: %q", e.text())
	}
	e.insert(big, true)
	e.submit(true)
	e.do(keyPrev)
	if got := e.shown(e.Runes()); got != "see [paste 1: 215 lines]" || e.text() != "see "+big {
		t.Errorf("recalled as %q, %d bytes", got, len(e.text()))
	}
}

// A line counts as pasted when its first character was.
func TestPastedStartIsKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(*editor)
		want bool
	}{
		{"typed", func(e *editor) { typeKeys(e, "/quit") }, false},
		{"pasted", func(e *editor) { e.insert("/quit", true) }, true},
		{"one rune pasted", func(e *editor) { e.insert("/", true); typeKeys(e, "quit") }, true},
		{"pasted after", func(e *editor) { typeKeys(e, "/model "); e.insert("x", true) }, false},
		{"typed before", func(e *editor) { e.insert("x", true); typeKeys(e, "\x01/") }, false},
		{"emptied in between", func(e *editor) { e.insert("/x", true); typeKeys(e, "\x15/quit") }, false},
	} {
		e := startEditor(t)
		tt.do(e)
		if pasted := e.beginsPasted(); pasted != tt.want {
			t.Errorf("%s: %v", tt.name, pasted)
		}
	}
}

// Alt-. inserts the last word of the line before, and then those of older lines in
// its place; any other key makes it begin again.
func TestTheLastArgument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, keys, want string }{
		{"once", "see …", "see b.go|"},
		{"twice", "see ……", "see dir/a.go|"},
		{"to the oldest and no further", "see …………", "see oldest|"},
		{"in the middle", "ab←…", "ab.go|b"},
		{"begins again after a key", "…x…", "b.goxb.go|"},
		{"and after one that was taken back", "…x\x7f…", "b.gob.go|"},
		{"and after a movement", "……←→…", "dir/a.gob.go|"},
		{"is undone at once", "see ……\x1f", "see |"},
	} {
		e := startEditor(t, "oldest", "edit the dir/a.go", " ", "look at\nb.go")
		typeKeys(e, tt.keys)
		if got := string(e.Runes()[:e.Pos()]) + "|" + string(e.Runes()[e.Pos():]); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	e := startEditor(t)
	if e.do(keyLastArgument) {
		t.Error("there is an argument without a history")
	}
	e.insert("open ", false)
	e.insert("@a.txt", true)
	e.submit(true)
	e.do(keyLastArgument)
	if e.text() != "@a.txt" || !e.beginsPasted() {
		t.Errorf("%q, pasted %v", e.text(), e.beginsPasted())
	}
}
