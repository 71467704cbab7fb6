package builtin

import (
	"encoding/binary"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"artoo/tool/edit"
	"artoo/tool/files"
)

func TestAnEditThatDiffersOnlyInItsFormIsDoneInTheFilesOwn(t *testing.T) {
	t.Parallel()
	const (
		blanks = "spaces at the ends of lines"
		indent = "indentation"
		marks  = "the kind of quotes, dashes or spaces"
	)
	for _, test := range []struct{ name, file, old, new, want, differs string }{
		{"trailing blanks in the file", "a  \nb\t\nc\n", "a\nb\nc", "a\nB\nc", "a  \nB\t\nc\n", blanks},
		{"trailing blanks in the edit", "a\nb\nc\n", "a  \nb \n", "a  \nB \n", "a\nB\nc\n", blanks},
		{"a last line without its end", "a\nb", "b\n", "c\n", "a\nc", blanks},
		{"no indentation", "f {\n\tif a {\n\t\tb()\n\t}\n}\n", "if a {\n\tb()\n}", "if c {\n\tfor {\n\t\tb()\n\t}\n}",
			"f {\n\tif c {\n\t\tfor {\n\t\t\tb()\n\t\t}\n\t}\n}\n", indent},
		{"too much indentation", "if a {\n  b()\n}\n", "    if a {\n      b()\n", "    if a {\n      c()\n        d()\n",
			"if a {\n  c()\n    d()\n}\n", indent},
		{"four blanks for a tab", "x\n\tif a {\n\t\tb()\n\t}\n", "    if a {\n        b()\n    }",
			"    if a {\n        if c {\n            b()\n        }\n    }", "x\n\tif a {\n\t\tif c {\n\t\t\tb()\n\t\t}\n\t}\n",
			indent},
		{"a tab for two blanks", "x:\n  y:\n    - 1\n", "\ty:\n\t\t- 1\n", "\ty:\n\t\t- 1\n\t\t\t- 2\nz:\n",
			"x:\n  y:\n    - 1\n      - 2\nz:\n", indent},
		{"two blanks for four", "f:\n    if a:\n        b()\n", "  if a:\n    b()\n", "  if a:\n    if c:\n      b()\n",
			"f:\n    if a:\n        if c:\n            b()\n", indent},
		{"one line of four blanks for a tab", "f {\n\tb()\n}\n", "    b()", "    if a {\n        b()\n    }",
			"f {\n\tif a {\n\t\tb()\n\t}\n}\n", indent},
		{"one line without any in a file of tabs", "f {\n\t\tb() \n}\n", "b()\n", "if a {\n    b()\n}\n",
			"f {\n\t\tif a {\n\t\t\tb()\n\t\t}\n}\n", indent},
		{"a line that stays keeps all", "f {\n\t  a() \n\tb()\n}\n", "    a()\n    b()\n", "    a()\n    c()\n",
			"f {\n\t  a() \n\tc()\n}\n", ""},
		{"blank lines", "f {\n\ta()\n\t\n\tb()\n}\n", "a()\n\nb()", "a()\n\nc()\n\nb()", "f {\n\ta()\n\n\tc()\n\t\n\tb()\n}\n",
			indent},
		{"quotes", "say “hi” to ‘x’\n", `"hi" to 'x'`, `"hello" to 'x'`, "say “hello” to ‘x’\n", marks},
		{"dashes and blanks", "1\u00a0–\u00a02 and 3\n", "1 - 2 and", "1 - 2 or", "1\u00a0–\u00a02 or 3\n", marks},
		{"the reverse", "say \"hi\" - now\n", "“hi” — now", "“ho” — now", "say \"ho\" - now\n", marks},
		{"quotes and indentation", "\t“a” \n\tb\n", "  \"a\"\n  b\n", "  \"c\"\n  b\n", "\t“c” \n\tb\n", marks},
		{"line ends", "a\r\nb\r\n", "a\nb\n", "a\nc\n", "a\r\nc\r\n", ""},
		{"line ends that are returns", "a\rb\rc", "a\nb\n", "a\nx\ny\n", "a\rx\ry\rc", ""},
		{"returns given for line ends", "a\rb\rc\r", "b\rc", "x\ry", "a\rx\ry\r", ""},
		{"returns within lines", "1%\r2%\nb\n", "2%\nb", "3%\nc", "1%\r3%\nc\n", ""},
		{"line ends and indentation", "\ta\r\n\tb\r\n", "a\nb\n", "a\nx\nb\n", "\ta\r\n\tx\r\n\tb\r\n", indent},
		{"exactly there once, loosely twice", "\ta \n\ta\n", "\ta\n", "\tb\n", "\ta \n\tb\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": test.file})
			if test.name == "a line that stays keeps all" { // its indentation could only be guessed for a new one
				w.fails(Edit(), in{"path": "f", "old_string": test.old, "new_string": test.new}, "only indentation")
				return
			}
			got := w.ok(Edit(), in{"path": "f", "old_string": test.old, "new_string": test.new})
			if now := w.content("f"); now != test.want {
				t.Errorf("the file is\n%q, want\n%q", now, test.want)
			}
			said := strings.Contains(got.Text, "(old_string and the file differ in "+test.differs+"; the file's own was kept)")
			if said != (test.differs != "") {
				t.Errorf("told %q", got.Text)
			}
		})
	}
}

func TestAnEditIsNeverAGuess(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, old, new, why string }{
		{"two places", "\ta\nx\n\t\ta\n", "    a \n", "b\n", "there 2 times, ignoring indentation, on lines 1, 3"},
		{"two places but for blanks", "a \nb\na\t\nb\n", "a\nb\n", "c\n",
			"there 2 times, ignoring spaces at the ends of lines"},
		{"two places but for quotes", "“a”\n‘a’ “a”\n", `"a"`, "b", "2 times, ignoring the kind of quotes"},
		{"flattened", "if a:\n    b\n        c\n", "if a:\nb\nc", "if a:\nd\nc", "only indentation"},
		{"part of a line", "  a b\n", "  a  b", "c", "only white space"},
		{"nothing but blanks", "a\n \t\nb\n", "\n  \n", "x", "not in the file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": test.file})
			w.fails(Edit(), in{"path": "f", "old_string": test.old, "new_string": test.new}, test.why)
			if now := w.content("f"); now != test.file {
				t.Errorf("%q", now)
			}
		})
	}
	w := newFileWorld(t, map[string]string{"f": "\ta \nx\n\t\ta\n"})
	w.ok(Edit(), in{"path": "f", "old_string": "    a\n", "new_string": "    b\n", "replace_all": true})
	if now := w.content("f"); now != "\tb \nx\n\t\tb\n" {
		t.Errorf("%q", now)
	}
}

// formed is a file in some encoding, with an edit of some of its lines that may be
// off in form.
type formed struct {
	lines     []string
	from, to  int // the lines that are replaced
	old, text string
	enc       int
}

// Generate implements quick.Generator.
func (formed) Generate(r *rand.Rand, _ int) reflect.Value {
	words := []string{"a", "b(“x”)", "c – d", "if e {", "}", "", "ü", "f()", "\t", "end"}
	f := formed{enc: r.Intn(4)}
	ends := [][]string{{"\n", "\r\n"}, {"\n", "\r\n"}, {"\r", "\r"}}[r.Intn(3)]
	for range 3 + r.Intn(12) {
		line := strings.Repeat([]string{"\t", "  ", "    "}[r.Intn(3)], r.Intn(3)) + words[r.Intn(len(words))] +
			strings.Repeat(" ", r.Intn(2)*r.Intn(3))
		f.lines = append(f.lines, line+ends[r.Intn(2)])
	}
	if last := len(f.lines) - 1; r.Intn(3) == 0 {
		f.lines[last] = strings.TrimRight(f.lines[last], "\r\n")
	}
	f.from = r.Intn(len(f.lines))
	f.to = min(len(f.lines), f.from+1+r.Intn(4))
	f.old = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.Join(f.lines[f.from:f.to], ""))
	off := []func(string) string{
		func(s string) string { return s },
		edit.Typewritten,
		func(s string) string { return strings.ReplaceAll(s, " \n", "\n") },
		func(s string) string { return strings.ReplaceAll(s, "\t", "    ") },
		func(s string) string { return strings.NewReplacer("\r\n", "\r\n", "\n", "\r\n").Replace(s) },
	}
	f.old = off[r.Intn(len(off))](off[r.Intn(len(off))](f.old))
	f.text = off[r.Intn(len(off))](strings.Replace(f.old, "a", "z", 1) + []string{"", "new\n", "  new"}[r.Intn(3)])
	return reflect.ValueOf(f)
}

func (f formed) encode(s string) string {
	switch f.enc {
	case 1:
		return "\xef\xbb\xbf" + s
	case 2:
		return wide(binary.LittleEndian, s)
	case 3:
		return wide(binary.BigEndian, s)
	}
	return s
}

// places are the lines where old may be meant.
func (f formed) places() (all []int) {
	plain := func(lines []string) (out []string) {
		for _, l := range lines {
			out = append(out, edit.Typewritten(strings.TrimSpace(l)))
		}
		return out
	}
	wanted := plain(strings.SplitAfter(f.old, "\n"))[:f.to-f.from]
	for at := range len(f.lines) - len(wanted) + 1 {
		if slices.Equal(plain(f.lines[at:at+len(wanted)]), wanted) {
			all = append(all, at)
		}
	}
	return all
}

// inPlace reports whether now is the file with other lines in one of the places, and
// every other byte as it was.
func (f formed) inPlace(now string) bool {
	return slices.ContainsFunc(f.places(), func(from int) bool {
		head := f.encode(strings.Join(f.lines[:from], ""))
		tail := f.encode(strings.Join(f.lines[from+f.to-f.from:], ""))[len(f.encode("")):]
		return strings.HasPrefix(now, head) && strings.HasSuffix(now, tail)
	})
}

// Whatever the form of the file and of the edit: either nothing changes, or
// nothing but the lines that were meant.
func TestAnEditChangesNoByteOutsideOfItsPlace(t *testing.T) {
	t.Parallel()
	done := 0
	holds := func(f formed) bool {
		if edit.IsBlank(f.old) { // it may be a part of any line
			return true
		}
		text, err := files.Decode([]byte(f.encode(strings.Join(f.lines, ""))))
		if err != nil {
			return false
		}
		after, _, _, err := edit.Replace(text, replacementOf(f.old, f.text))
		if err != nil {
			return true
		}
		done++
		now, err := after.Encode()
		return err == nil && f.inPlace(string(now))
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 5_000, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Error(err)
	}
	if done < 1250 {
		t.Errorf("only %d edits were done", done)
	}
}

func TestAnEditKeepsModeAndLinks(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"real/f": ""})
	w.link("real/f", "link")
	if err := os.Chmod(w.path("real/f"), 0o750); err != nil {
		t.Fatal(err)
	}
	done := 0
	holds := func(f formed) bool {
		whole := f.encode(strings.Join(f.lines, ""))
		if err := os.WriteFile(w.path("real/f"), []byte(whole), 0o640); err != nil {
			t.Fatal(err)
		}
		w.env.Files.Seen.Forget(w.path("real/f"))
		_, _, err := w.call(Edit(), in{"path": "link", "old_string": f.old, "new_string": f.text})
		if now := w.content("real/f"); err != nil && now != whole || err == nil && !f.inPlace(now) {
			return false
		}
		if err == nil {
			done++
		}
		info, statErr := os.Lstat(w.path("real/f"))
		linked, linkErr := os.Readlink(w.path("link"))
		return statErr == nil && linkErr == nil && info.Mode() == 0o750 && linked == "real/f"
	}
	if err := quick.Check(holds, &quick.Config{MaxCount: 60, Rand: rand.New(rand.NewSource(2))}); err != nil || done < 10 {
		t.Errorf("%d edits were done: %v", done, err)
	}
	if names := w.names("real"); !slices.Equal(names, []string{"f"}) {
		t.Errorf("left behind: %q", names)
	}
	const twin = "a \nb\n"
	w.put(w.path("one"), twin)
	if err := os.Link(w.path("one"), w.path("two")); err != nil {
		t.Fatal(err)
	}
	w.ok(Edit(), in{"path": "one", "old_string": "a\nb", "new_string": "a\nc"})
	if now := w.content("two"); now != "a \nc\n" {
		t.Errorf("the other name of the file has %q", now)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\n\tb \n", "    b\n", "    c\n")
	f.Add("“a” – b\r\n", `"a" - b`, `"c" - b`)
	f.Add("\xef\xbb\xbfa\r\nb", "a\nb\n", "a\nc\n")
	f.Add("\ta\n  b\n", "a\nb", "a\n x\nb")
	f.Fuzz(func(t *testing.T, raw, old, replacement string) {
		text, err := files.Decode([]byte(raw))
		if err != nil {
			return
		}
		edits, _, err := edit.Locate(text, replacementOf(old, replacement))
		if err != nil {
			return
		}
		e := edits[0]
		after := text.Apply(edits)
		if !strings.HasPrefix(after.Body, text.Body[:e.Start]) || !strings.HasSuffix(after.Body, text.Body[e.End:]) {
			t.Fatalf("%q became %q", text.Body, after.Body)
		}
		if n := strings.Count(after.Body, "\n"); after.Ends != nil && len(after.Ends) != max(n, 1) {
			t.Fatalf("%d line ends for %d lines", len(after.Ends), n)
		}
	})
}

func replacementOf(old, text string) edit.Replacement {
	return edit.Replacement{OldString: &old, NewString: &text}
}
