package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
)

const weekGo = `package cart

// Week is a week.
func Week(day int) int {
	return day / 7
}

func Day(week int) int {
	return week * 7
}
`

func TestAFailedListOfEditsSaysThatNothingWasApplied(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "one\ntwo\n"})
	first := in{"old_string": "one", "new_string": "1"}
	w.fails(Edit(), in{"path": "f", "edits": []in{first, {"old_string": "three", "new_string": "3"}}}, "edit 2 of 2",
		"none of the 2 edits was applied")
	if got := w.content("f"); got != "one\ntwo\n" {
		t.Errorf("%q", got)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"week.go": weekGo})
	access, result, err := w.call(Edit(), in{"path": "week.go", "old_string": "return day / 7",
		"new_string": "// Days count from 1.\n\treturn (day - 1) / 7"})
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(weekGo, "return day / 7", "// Days count from 1.\n\treturn (day - 1) / 7", 1)
	want := tool.Access{
		Kind: tool.KindWrite, Paths: []string{w.path("week.go")}, Verb: "edit", Object: "week.go", Added: 2, Removed: 1,
		Diff: `--- a/week.go
+++ b/week.go
@@ -2,7 +2,8 @@
 
 // Week is a week.
 func Week(day int) int {
-	return day / 7
+	// Days count from 1.
+	return (day - 1) / 7
 }
 
 func Day(week int) int {
`,
		Outcomes: []tool.Outcome{{Path: w.path("week.go"), Data: []byte(edited)}},
	}
	want.Digest = access.Digest
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	text := `edited week.go: 1 replacement, +2 -1; it now reads
     2	
     3	// Week is a week.
     4	func Week(day int) int {
     5		// Days count from 1.
     6		return (day - 1) / 7
     7	}
     8	
     9	func Day(week int) int {
`
	if diff := cmp.Diff(tool.Result{Text: text, Summary: "+2 -1"}, result); diff != "" {
		t.Error(diff)
	}
	if got := w.content("week.go"); got != edited {
		t.Errorf("content\n%s", got)
	}
}

func TestEditMany(t *testing.T) {
	t.Parallel()
	edit := func(old, replacement string) in { return in{"old_string": old, "new_string": replacement} }
	for _, test := range []struct {
		name, old string
		input     in
		want      string
	}{
		{"in order", "a b\n", in{"edits": []in{edit("a", "c"), edit("c b", "d")}}, "d\n"},
		{"all", "a a a\n", in{"old_string": "a", "new_string": "bb", "replace_all": true}, "bb bb bb\n"},
		{"all of one", "aaa", in{"edits": []in{{"old_string": "aa", "new_string": "b", "replace_all": true}}}, "ba"},
		{"delete", "a\nb\n", in{"old_string": "a\n", "new_string": ""}, "b\n"},
		{"delete everything", "a", in{"old_string": "a", "new_string": ""}, ""},
		{"blank flat fields beside edits", "a",
			in{"old_string": "", "new_string": "", "replace_all": false, "edits": []in{edit("a", "b")}}, "b"},
		{"dollar and percent are text", "x", in{"old_string": "x", "new_string": "$1 %d \\1"}, "$1 %d \\1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": test.old})
			test.input["path"] = "f"
			w.ok(Edit(), test.input)
			if got := w.content("f"); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	t.Parallel()
	edit := func(old, replacement string) in { return in{"old_string": old, "new_string": replacement} }
	for _, test := range []struct {
		name  string
		input in
		words []string
	}{
		{"nothing", in{}, []string{"nothing to do"}},
		{"no edits", in{"edits": []in{}}, []string{"nothing to do"}},
		{"both forms", in{"edits": []in{edit("a", "b")}, "old_string": "a", "new_string": "c"}, []string{"not both"}},
		{"empty", edit("", "x"), []string{"old_string is empty", "write"}},
		{"no replacement", in{"old_string": "package"}, []string{"new_string is missing"}},
		{"the same", edit("cart", "cart"), []string{"are the same"}},
		{"ambiguous", edit("return", "x"), []string{"2 times", "lines 5, 9", "replace_all"}},
		{"ambiguous on one line", edit("e", "x"), []string{"times", "lines 1, 3"}},
		{"second edit misses", in{"edits": []in{edit("package cart", "package x"), edit("package cart", "package y")}},
			[]string{"week.go: edit 2 of 2: old_string is not in the file"}},
		{"no net change", in{"edits": []in{edit("package cart", "package x"), edit("package x", "package cart")}},
			[]string{"nothing to do"}},
		{"indentation that could only be guessed", edit("   return day / 7", "  if day > 7 {\n    x"),
			[]string{"only indentation", "     5\t\treturn day / 7"}},
		{"white space", edit("func Week( day int ) int {\n  return day/7", "x"),
			[]string{"only white space differs", "     4\tfunc Week(day int) int {\n     5\t\treturn day / 7"}},
		{"case", edit("// week is a week.", "x"), []string{"only case differs", "     3\t// Week"}},
		{"line numbers", edit("     4\tfunc Week(day int) int {\n     5\t\treturn day / 7\n", "x"),
			[]string{"line numbers", "leave them out"}},
		{"escapes", edit(`int {\n\treturn day / 7`, "x"), []string{`\n`, "characters themselves"}},
		{"done before", edit("return day % 7", "return week * 7"), []string{"new_string is, on line 9", "already done"}},
		{"a cut that misses", edit("// Week is a week.\nvar x", "// Week is a week."), []string{"nearest lines"}},
		{"near", edit("func Week(d int) int {\n\treturn d / 7\n}", "x"),
			[]string{"nearest lines", "     4\tfunc Week(day int) int {"}},
		{"near single line", edit("\treturn days / 7", "x"), []string{"nearest lines", "     5\t\treturn day / 7"}},
		{"far", edit("SELECT * FROM users", "x"), []string{"nor anything like it"}},
		{"unknown argument", in{"old_string": "a", "new_string": "b", "regex": true}, []string{"regex"}},
		{"half an edit", in{"edits": []in{{"old_string": "a"}}}, []string{"new_string"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"week.go": weekGo})
			test.input["path"] = "week.go"
			w.fails(Edit(), test.input, test.words...)
			if w.content("week.go") != weekGo {
				t.Error("was changed")
			}
		})
	}
}

func TestEditFiles(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "a\n", "bin": "a\x00", "d/x": "", "odd": "\xff\xfeab\x00"})
	edit := func(path string) in { return in{"path": path, "old_string": "a", "new_string": "b"} }
	w.fails(Edit(), edit("g"), "does not exist", "near it:", "f", "write creates files")
	w.fails(Edit(), edit("bin"), "binary")
	w.fails(Edit(), edit("odd"), "UTF-16")
	w.fails(Edit(), edit("d"), "directory")
	w.ok(Read(), in{"path": "f"})
	w.put(w.path("f"), "a, or the other\n")
	w.fails(Edit(), edit("f"), "changed since it was read", "read it again")
	w.ok(Read(), in{"path": "f"})
	w.ok(Edit(), edit("f"))
	// After its own edit it need not be read again; never read is fine too,
	// since the text must be there.
	w.ok(Edit(), in{"path": "f", "old_string": "other", "new_string": "edited"})
	w.put(w.path("unread"), "a\n")
	w.ok(Edit(), edit("unread"))
	w.put(w.path("overlap"), "\t}\n\t}\n\t}\n")
	w.fails(Edit(), in{"path": "overlap", "old_string": "\t}\n\t}\n", "new_string": ""}, "2 times", "lines 1, 2")
}

func TestEditShowsRegions(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": numbered(1, 100)})
	text := w.ok(Edit(), in{"path": "f", "edits": []in{
		{"old_string": "line 10\n", "new_string": "ten\n"}, {"old_string": "line 50\n", "new_string": ""},
	}}).Text
	want := "edited f: 2 replacements, +1 -2; it now reads\n" +
		"     7\tline 7\n     8\tline 8\n     9\tline 9\n    10\tten\n    11\tline 11\n    12\tline 12\n    13\tline 13\n   ...\n" +
		"    47\tline 47\n    48\tline 48\n    49\tline 49\n    50\tline 51\n    51\tline 52\n    52\tline 53\n"
	if diff := cmp.Diff(want, text); diff != "" {
		t.Error(diff)
	}
	text = w.ok(Edit(), in{"path": "f", "old_string": "line", "new_string": "row", "replace_all": true}).Text
	if n := strings.Count(text, "\n"); n > regionLines+2 || !strings.HasSuffix(text, "[more was changed further down]\n") {
		t.Errorf("%d lines:\n%s", n, text)
	}
}

// TestOtherEncoding is a file in Latin-1: its bytes survive, and UTF-8 never
// gets among them.
func TestOtherEncoding(t *testing.T) {
	t.Parallel()
	const latin = "caf\xe9 one\ntwo\n"
	tests := []struct {
		name  string
		tool  tool.Tool
		input map[string]any
		want  string // the file afterwards, latin when refused
		err   string
	}{
		{"ASCII", Edit(), map[string]any{"path": "a", "old_string": "two", "new_string": "2"}, "caf\xe9 one\n2\n", ""},
		{"beyond ASCII", Edit(), map[string]any{"path": "a", "old_string": "two", "new_string": "zwölf"}, latin,
			"is not UTF-8"},
		{"what read shows", Edit(), map[string]any{"path": "a", "old_string": "caf\ufffd one", "new_string": "tea"},
			latin, "not UTF-8"},
		{"whole as shown", Write(), map[string]any{"path": "a", "content": "caf\ufffd one\nthree\n"}, latin,
			"a: is not UTF-8"},
		{"whole in ASCII", Write(), map[string]any{"path": "a", "content": "tea\n"}, "tea\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"a": latin})
			w.ok(Read(), map[string]any{"path": "a"})
			_, _, err := w.call(tt.tool, tt.input)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := w.content("a"); got != tt.want {
				t.Errorf("the file is %q", got)
			}
		})
	}
}
