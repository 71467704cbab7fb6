package builtin

import (
	"strings"
	"testing"
)

func TestWriteKeepsWhatWasNeverShown(t *testing.T) {
	w := newFileWorld(t, map[string]string{"f": numbered(1, 100), "wide": "a\n" + strings.Repeat("x", 5000) + "\nb\n",
		"one": "x", "n.ipynb": `{"cells":[]}`})
	replace := in{"path": "f", "content": "new\n"}
	w.ok(Read(), in{"path": "f", "limit": 40})
	w.fails(Write(), replace, "f: lines 41-100 of 100 were not shown whole, and would be lost", "offset=41", "edit")
	w.ok(Read(), in{"path": "f", "offset": 61})
	w.fails(Write(), replace, "lines 41-60 of 100", "offset=41")
	w.ok(Read(), in{"path": "f", "offset": 41, "limit": 19})
	w.fails(Write(), replace, "line 60 of 100 was not shown")
	if got := w.content("f"); got != numbered(1, 100) {
		t.Fatalf("was written: %q", got)
	}
	w.ok(Read(), in{"path": "f", "offset": 60, "limit": 1})
	w.ok(Write(), replace)

	w.ok(Read(), in{"path": "wide"})
	w.fails(Write(), in{"path": "wide", "content": "a\n"}, "line 2 of 3 was not shown whole", "too long to be shown")
	w.ok(Read(), in{"path": "one"})
	w.ok(Write(), in{"path": "one", "content": "y"})
	w.ok(Read(), in{"path": "n.ipynb"})
	w.fails(Write(), in{"path": "n.ipynb", "content": "{}"}, "was not shown as the text it is")
}

// What the model knows of a file follows its own edits.
func TestWhatWasSeenMovesWithAnEdit(t *testing.T) {
	w := newFileWorld(t, map[string]string{"f": numbered(1, 100)})
	w.ok(Read(), in{"path": "f", "offset": 50})
	w.ok(Edit(), in{"path": "f", "old_string": "line 10\n", "new_string": "ten\nand a half\n"})
	w.fails(Write(), in{"path": "f", "content": "x"}, "lines 1-9 of 101")
	w.ok(Edit(), in{"path": "f", "old_string": "line 80\nline 81\nline 82\n", "new_string": ""})
	w.ok(Read(), in{"path": "f", "limit": 9})
	w.fails(Write(), in{"path": "f", "content": "x"}, "lines 12-50 of 98")
	w.ok(Read(), in{"path": "f", "offset": 12, "limit": 39})
	w.ok(Write(), in{"path": "f", "content": "x"})

	other := newFileWorld(t, map[string]string{"f": numbered(1, 100)})
	other.ok(Edit(), in{"path": "f", "old_string": "line 10\n", "new_string": "ten\n"})
	other.fails(Write(), in{"path": "f", "content": "x"}, "lines 1-9 of 100")
}
