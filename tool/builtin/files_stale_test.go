package builtin

import (
	"strings"
	"testing"
)

// A formatter that the model ran itself must not cost it a second reading: the changes are shown, and an edit whose
// place is unchanged is made.
func TestAnEditBesideWhatAnOwnCommandChanged(t *testing.T) {
	t.Parallel()
	const read, formatted = "package p\n\nvar a  = 1\n\nfunc f() {\n\treturn\n}\n",
		"package p\n\nvar a = 1\n\nfunc f() {\n\treturn\n}\n"
	w := newFileWorld(t, map[string]string{"f.go": read})
	w.ok(Read(), in{"path": "f.go"})
	runs := func(content string) { // a command of the model's own that writes the file
		done := w.env.Files.Seen.Watch().Done
		w.put(w.path("f.go"), content)
		done()
	}
	runs(formatted)
	w.fails(Edit(), in{"path": "f.go", "old_string": "var a  = 1", "new_string": "var a = 2"},
		"has changed since it was read", "-var a  = 1\n+var a = 1\n")
	got := w.ok(Edit(), in{"path": "f.go", "old_string": "\treturn\n", "new_string": "\tpanic(a)\n"})
	if want := strings.Replace(formatted, "return", "panic(a)", 1); w.content("f.go") != want {
		t.Errorf("%q", w.content("f.go"))
	}
	if !strings.Contains(got.Text, "(a command had changed the file since it was read, but not there:\n") ||
		!strings.Contains(got.Text, "+var a = 1\n") {
		t.Errorf("%s", got.Text)
	}
	// It knows the file again.
	w.ok(Write(), in{"path": "f.go", "content": "package p\n"})

	// A text that now occurs twice is ambiguous.
	w.put(w.path("f.go"), "one\ntwo\n")
	w.ok(Read(), in{"path": "f.go"})
	runs("one\ntwo\none\n")
	for _, all := range []bool{false, true} {
		w.fails(Edit(), in{"path": "f.go", "old_string": "one", "new_string": "1", "replace_all": all},
			"has changed since it was read", "+one\n")
	}
	runs(numbered(1, 3000))
	w.fails(Edit(), in{"path": "f.go", "old_string": "line 7\n", "new_string": ""}, "has changed a lot since it was read")
}

// Changes by others between reading and editing may have any reason: the model looks at them first.
func TestAFileThatOthersChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "one\ntwo\nthree\n"})
	edit := in{"path": "f", "old_string": "three", "new_string": "3"}
	w.ok(Read(), in{"path": "f"})
	w.put(w.path("f"), "one\n2\nthree\n")
	w.env.Files.Seen.Watch().Done() // a command that comes later has not done it
	w.fails(Edit(), edit, "not by a command of yours", "-two\n+2\n")

	w.ok(Read(), in{"path": "f"})
	done := w.env.Files.Seen.Watch().Done
	w.put(w.path("f"), "one\n2!\nthree\n")
	done()
	w.put(w.path("f"), "one\n2!!\nthree\n")
	w.fails(Edit(), edit, "not by a command of yours", "+2!!\n")

	w.ok(Read(), in{"path": "f"})
	for _, content := range []string{"one\ntwo?\nthree\n", "one\ntwo??\nthree\n"} { // two commands
		done := w.env.Files.Seen.Watch().Done
		w.put(w.path("f"), content)
		done()
	}
	w.ok(Edit(), edit)
	if now := w.content("f"); now != "one\ntwo??\n3\n" {
		t.Errorf("%q", now)
	}
}

func TestWriteKeepsWhatWasNeverShown(t *testing.T) {
	t.Parallel()
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
	w.fails(Write(), in{"path": "wide", "content": "a\n"}, "line 2 of 3 was not shown whole", "too long to show")
	w.ok(Read(), in{"path": "one"})
	w.ok(Write(), in{"path": "one", "content": "y"})
	w.ok(Read(), in{"path": "n.ipynb"})
	w.fails(Write(), in{"path": "n.ipynb", "content": "{}"}, "was not shown as the text it is")
}

// The model's known lines of a file move with its own edits.
func TestWhatWasSeenMovesWithAnEdit(t *testing.T) {
	t.Parallel()
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
