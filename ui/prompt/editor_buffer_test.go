package prompt

import (
	"io"
	"testing"

	"github.com/chzyer/readline"
)

// Each method of the buffer that the editor does not use, on a line with the cursor at |,
// with its result, which is the reason. "panics" stands for a panic.
func TestDefectsOfTheBuffer(t *testing.T) {
	t.Parallel()
	type buffer = readline.RuneBuffer
	for _, tt := range []struct {
		name string
		do   func(*buffer)
		line string
		got  string // the line after the method
		key  keyKind
		want string // the line after the editor's key; "" where it has none
	}{
		{"half a character", (*buffer).MoveBackward, "ae\u0301|", "ae|\u0301", keyLeft, "a|e\u0301"},
		{"half a character", (*buffer).MoveForward, "|e\u0301a", "e|\u0301a", keyRight, "e\u0301|a"},
		{"half a character", (*buffer).Backspace, "👨‍👩‍👧|", "👨‍👩‍|", keyBackspace, "|"},
		{"half a character", func(b *buffer) { b.Delete() }, "|👍🏽x", "|🏽x", keyDelete, "|x"},
		{"the text's start, not the line's", (*buffer).MoveToLineStart, "ab\ncd|", "|ab\ncd", keyHome, "ab\n|cd"},
		{"the text's end, not the line's", (*buffer).MoveToLineEnd, "|ab\ncd", "ab\ncd|", keyEnd, "ab|\ncd"},
		{"over the line's end", (*buffer).Kill, "a|b\ncd", "a|", keyKillEnd, "a|\ncd"},
		{"over the line's start", (*buffer).KillFront, "ab\nc|d", "|d", keyKillStart, "ab\n|d"},
		{"words are ASCII", func(b *buffer) { b.MoveToPrevWord() }, "привет мир|", "|привет мир", keyWordLeft, "привет |мир"},
		{"words are ASCII", (*buffer).MoveToNextWord, "|привет, мир", "привет, мир|", keyWordRight, "привет|, мир"},
		{"words are ASCII", (*buffer).DeleteWord, "|привет мир", "|", keyKillWordRight, "| мир"},
		{"words are ASCII", (*buffer).BackEscapeWord, "один два|", "|", keyKillWordLeft, "один |"},
		{"the last letter", (*buffer).MoveToEndWord, "a|b", "panics", 0, ""},
		{"at the end", func(b *buffer) { b.Replace('x') }, "ab|", "panics", 0, ""},
		{"half a character", (*buffer).Transpose, "ae\u0301|", "a\u0301e|", keyTranspose, "e\u0301a|"},
		{"a line of one", (*buffer).Transpose, "a|", "beyond the end", keyTranspose, "a|"},
		{"into the next line", func(b *buffer) { b.MoveTo('d', false, false) }, "|ab\ncd", "ab\nc|d", 0, ""},
		{"nothing can be put into what it yanks", (*buffer).Yank, "ab|", "ab|", 0, ""},
	} {
		at := -1
		for i, r := range []rune(tt.line) {
			if r == '|' {
				at = i
			}
		}
		line := []rune(tt.line)
		line = append(line[:at:at], line[at+1:]...)
		b := readline.NewRuneBuffer(io.Discard, "", &readline.Config{FuncIsTerminal: func() bool { return false }}, 0)
		b.SetWithIdx(at, append([]rune(nil), line...))
		if got := tried(b, tt.do); got != tt.got {
			t.Errorf("%s: %q becomes %q, not %q: the editor may use it", tt.name, tt.line, got, tt.got)
		}
		e := newEditor(nil)
		e.SetWithIdx(at, append([]rune(nil), line...))
		e.do(tt.key)
		if got := tried(e.RuneBuffer, func(*buffer) {}); tt.want != "" && got != tt.want {
			t.Errorf("%s: the editor makes %q of %q, want %q", tt.name, got, tt.line, tt.want)
		}
	}
}

// tried is the line of a buffer after a method.
func tried(b *readline.RuneBuffer, do func(*readline.RuneBuffer)) (got string) {
	defer func() {
		if recover() != nil {
			got = "panics"
		}
	}()
	do(b)
	if b.Pos() > b.Len() {
		return "beyond the end"
	}
	line := b.Runes()
	return string(line[:b.Pos()]) + "|" + string(line[b.Pos():])
}
