package builtin

import (
	"os"
	"strings"
	"testing"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
)

// patch wraps sections.
func patch(sections string) in {
	return in{"input": edit.PatchBegin + "\n" + sections + edit.PatchEnd + "\n"}
}

func TestAPatchAddsChangesMovesAndDeletes(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a.go": weekGo, "dir/old.sh": "one\r\ntwo\r\n", "gone": "x\ny\n"})
	if err := os.Chmod(w.path("dir/old.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	access, got, err := w.call(ApplyPatch(), patch("*** Add File: new/deep/b.txt\n+hello\n+\n*** Update File: a.go\n"+
		"@@ func Day(week int) int {\n-\treturn week * 7\n+\treturn week * 8\n"+
		"*** Update File: dir/old.sh\n*** Move to: other/new.sh\n@@\n one\n-two\n+2\n*** Delete File: gone\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"new/deep/b.txt": "hello\n\n", "a.go": strings.Replace(weekGo, "* 7", "* 8", 1), "other/new.sh": "one\r\n2\r\n",
	} {
		if now := w.content(name); now != want {
			t.Errorf("%s is %q, want %q", name, now, want)
		}
	}
	if info, err := os.Stat(w.path("other/new.sh")); err != nil || info.Mode() != 0o755 {
		t.Errorf("the moved file: %v %v", info, err)
	}
	for _, name := range []string{"gone", "dir/old.sh"} {
		if _, err := os.Lstat(w.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if names := strings.Join(w.names("."), " "); names != "a.go dir new other" {
		t.Errorf("the project has %s", names)
	}
	want := "Success. Updated the following files:\nA new/deep/b.txt\nM a.go\nM other/new.sh (was dir/old.sh)\nD gone\n"
	if got.Text != want || got.Summary != "4 files, +4 -4" {
		t.Errorf("%q %q", got.Text, got.Summary)
	}
	paths := w.path("new/deep/b.txt") + " " + w.path("a.go") + " " + w.path("dir/old.sh") + " " +
		w.path("other/new.sh") + " " + w.path("gone")
	if strings.Join(access.Paths, " ") != paths || access.Kind != tool.KindWrite || access.Verb != "patch" ||
		access.Object != "new/deep/b.txt, a.go, dir/old.sh -> other/new.sh, gone" || access.Added != 4 || access.Removed != 4 {
		t.Errorf("%+v", access)
	}
	for _, part := range []string{"--- /dev/null\n+++ b/new/deep/b.txt\n", "--- a/a.go\n+++ b/a.go\n",
		"--- a/dir/old.sh\n+++ b/other/new.sh\n", "-two\n+2\n", "--- a/gone\n+++ /dev/null\n", "-x\n-y\n"} {
		if !strings.Contains(access.Diff, part) {
			t.Errorf("the diff lacks %q:\n%s", part, access.Diff)
		}
	}
}

func TestAChunkOfAPatchFindsItsPlace(t *testing.T) {
	t.Parallel()
	const twice = "class A\n  def f\n    x\nclass B\n  def f\n    x\n"
	for _, test := range []struct{ name, file, body, want, told string }{
		{"the first one", "a\nb\na\nb\n", "@@\n-b\n+c\n", "a\nc\na\nb\n", ""},
		{"from the chunk before on", "a\nb\na\nb\n", "@@\n-b\n+c\n@@\n-b\n+d\n", "a\nc\na\nd\n", ""},
		{"below a line", twice, "@@ class B\n-    x\n+    y\n", strings.TrimSuffix(twice, "x\n") + "y\n", ""},
		{"below nested lines", twice, "@@ class B\n@@   def f\n-    x\n+    y\n", strings.TrimSuffix(twice, "x\n") + "y\n", ""},
		{"below a part of a line", twice, "@@ B\n-    x\n+    y\n", strings.TrimSuffix(twice, "x\n") + "y\n", ""},
		{"numbers say nothing", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "a\nc\n", ""},
		{"without @@", "a\nb\n", " a\n-b\n+c\n", "a\nc\n", ""},
		{"at the end", "a\nb\na\n", "@@\n-a\n+c\n*** End of File\n", "a\nb\nc\n", ""},
		{"at the end, below what a chunk before it changed", "a\na\n", "@@\n a\n-a\n+b\n@@\n+c\n*** End of File\n", "a\nb\nc\n", ""},
		{"added at the end", "a\nb\n", "@@\n+c\n", "a\nb\nc\n", ""},
		{"added to an empty file", "", "@@\n+c\n", "c\n", ""},
		{"no newline at the end", "a\nb", "@@\n a\n-b\n+c\n+d\n", "a\nc\nd", ""},
		{"added where there is none", "a\nb", "@@\n+c\n", "a\nb\nc", ""},
		{"added at the end, and a change above", "a\nb\nc\n", "@@\n+x\n@@\n a\n-b\n+y\n@@\n c\n+z\n@@\n+w\n", "a\ny\nc\nz\nx\nw\n", ""},
		{"added at the end without a newline, and a change above", "a\nb\nc", "@@\n+x\n@@\n a\n-b\n+y\n@@\n+w\n", "a\ny\nc\nx\nw", ""},
		{"added at the end, and a blank line too many", "a\nb\n", "+x\n\n", "a\nb\nx\n", ""},
		{"added at the end below a line", "a\nb\nc\n", "@@ b\n+x\n*** End of File\n", "a\nb\nc\nx\n", ""},
		{"lines that go", "a\nb\nc\n", "@@\n-b\n-c\n", "a\n", ""},
		{"a blank line without its blank", "a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n", ""},
		{"a blank line too many", "a\nb\n", "@@\n-a\n+c\n b\n\n", "c\nb\n", ""},
		{"line ends", "a\r\nb\r\nc\n", "@@\n a\n-b\n+x\n+y\n", "a\r\nx\r\ny\r\nc\n", ""},
		{"line ends that are returns", "a\rb\rc\n", "@@\n a\n-b\n+x\n+y\n@@\n+z\n", "a\rx\ry\rc\nz\n", ""},
		{"trailing blanks", "a \nb\t\n", "@@\n a\n-b\n+c\n", "a \nc\t\n", "line 3 of the patch: it and the file differ in spaces"},
		{"indentation", "\tif a {\n\t\tb()\n\t}\n", "@@\n     if a {\n-        b()\n+        c()\n+        d()\n",
			"\tif a {\n\t\tc()\n\t\td()\n\t}\n", "differ in indentation"},
		{"quotes", "say “a” – b\nx\n", "@@\n say \"a\" - b\n-x\n+y\n", "say “a” – b\ny\n", "differ in the kind of quotes"},
		{"one of two changes nothing", "a\nb\n", "@@\n-a\n+c\n*** Update File: g\n@@\n g\n", "c\nb\n", ""},
		{"two sections of one file", "a\nb\n", "@@\n-a\n+c\n*** Update File: f\n@@\n-c\n+d\n", "d\nb\n", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newFileWorld(t, map[string]string{"f": test.file, "g": "g\n"})
			got := w.ok(ApplyPatch(), patch("*** Update File: f\n"+test.body))
			if now := w.content("f"); now != test.want {
				t.Errorf("%q, want %q", now, test.want)
			}
			if strings.Contains(got.Text, "differ in") != (test.told != "") || !strings.Contains(got.Text, test.told) {
				t.Errorf("told %q", got.Text)
			}
		})
	}
}

// At the end of a file nothing is found twice, nor a text longer than the file.
func TestAChunkAtTheEndIsRefusedWhereItDoesNotEndTheFile(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"not the end":        "@@\n-a\n+c\n*** End of File\n",
		"more than there is": "@@\n a\n b\n-c\n+d\n*** End of File\n",
		"changed already":    "@@\n a\n-b\n+c\n@@\n-b\n+d\n*** End of File\n",
	} {
		w := newFileWorld(t, map[string]string{"f": "a\nb\n"})
		w.fails(ApplyPatch(), patch("*** Update File: f\n"+body), "not there")
		if now := w.content("f"); now != "a\nb\n" {
			t.Errorf("%s: %q", name, now)
		}
	}
}

func TestAPatchDeletesAFileAndAddsItAnew(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "a\nb\n"})
	const anew = "*** Delete File: f\n*** Add File: f\n+a\n+c\n"
	if _, _, err := w.call(ApplyPatch(), patch(anew)); err == nil || !strings.Contains(err.Error(), "was not read yet") {
		t.Errorf("it was not read: %v", err)
	}
	w.ok(Read(), in{"path": "f"})
	access, got, err := w.call(ApplyPatch(), patch(anew))
	if err != nil {
		t.Fatal(err)
	}
	if now := w.content("f"); now != "a\nc\n" {
		t.Errorf("%q", now)
	}
	if !strings.HasSuffix(got.Text, "\nA f\n") || access.Added != 1 || access.Removed != 1 || !strings.Contains(access.Diff, "-b\n+c\n") {
		t.Errorf("%q, %+v", got.Text, access)
	}
}

func TestAPatchIsAppliedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	ok := "*** Update File: f\n@@\n-one\n+1\n*** Add File: new/n\n+n\n*** Delete File: h\n*** Update File: g\n" +
		"*** Move to: moved\n"
	for _, test := range []struct{ name, sections, why string }{
		{"a chunk that is nowhere", ok + "*** Update File: i\n@@\n-three\n+3\n", "i: the change on line 12 of the patch: " +
			"its lines are not there"},
		{"the wrong order", "*** Update File: f\n@@\n-two\n+2\n@@\n-one\n+1\n", "on line 1: changes go from top to bottom"},
		{"no such line above", "*** Update File: f\n@@ func x\n-two\n+2\n", "no such line from line 1 on"},
		{"two places but for blanks", "*** Update File: twice\n@@\n-a\n+b\n", "ignoring indentation, its lines occur 2 times, on line 1 and on line 2"},
		{"added lines below a line", "*** Update File: f\n@@ one\n+x\n", "its place is unknown"},
		{"a missing file", ok + "*** Update File: nowhere\n@@\n-a\n+b\n", "nowhere"},
		{"nothing to delete", ok + "*** Delete File: nowhere\n", "nowhere"},
		{"a directory", ok + "*** Delete File: sub\n", "is a directory"},
		{"there already", ok + "*** Add File: i\n+x\n", "exists and was not read yet"},
		{"moved over a file", "*** Update File: f\n*** Move to: g\n", "is there already"},
		{"twice", ok + "*** Delete File: f\n", "names it twice"},
		{"moved to where one is added", ok + "*** Update File: i\n*** Move to: new/n\n", "names it twice"},
		{"a link", ok + "*** Delete File: link\n", "link is a link to it"},
		{"binary", ok + "*** Update File: bin\n@@\n-a\n+b\n", "binary"},
		{"a key's mark", ok + "*** Add File: key\n+" + oneMark + "\n", "stands for a hidden key"},
		{"no change", "*** Update File: f\n@@\n one\n", "changes nothing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{"f": "one\ntwo\n", "g": "g\n", "h": "h\n", "i": "i\n", "sub/x": "", "twice": " a\n  a\n",
				"bin": "a\x00b"}
			w := newFileWorld(t, files)
			w.link("i", "link")
			w.fails(ApplyPatch(), patch(test.sections), test.why, "(nothing of the patch was applied)")
			for name, want := range files {
				if now := w.content(name); now != want {
					t.Errorf("%s is %q, want %q", name, now, want)
				}
			}
			if names := strings.Join(w.names("."), " "); names != "bin f g h i link sub twice" {
				t.Errorf("the project has %s", names)
			}
		})
	}
}

// A patch that fails in the middle of writing is reverted.
func TestAPatchThatCannotBeWrittenLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "one\n", "gone": "x\n", "from": "a\n", "last": "l\n"})
	files, err := edit.ParsePatch(patch("*** Update File: f\n@@\n-one\n+1\n*** Delete File: gone\n*** Update File: from\n" +
		"*** Move to: new/to\n@@\n-a\n+b\n*** Add File: made/here/n\n+n\n*** Update File: last\n@@\n-l\n+m\n")["input"].(string))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := patchSteps(t.Context(), w.env, files)
	if err != nil {
		t.Fatal(err)
	}
	w.put(w.path("last"), "somebody else's\n")
	var access tool.Access
	planned(&access, steps...)
	w.env.Digest = access.Digest
	err = commit(w.env, steps...)
	if err == nil || !strings.Contains(err.Error(), "has changed in the meantime") {
		t.Errorf("%v", err)
	}
	for name, want := range map[string]string{"f": "one\n", "gone": "x\n", "from": "a\n", "last": "somebody else's\n"} {
		if now := w.content(name); now != want {
			t.Errorf("%s is %q, want %q", name, now, want)
		}
	}
	if names := strings.Join(w.names("."), " "); names != "f from gone last" {
		t.Errorf("the project has %s", names)
	}
}

func TestAPatchIsRefusedWithTheLineThatIsWrong(t *testing.T) {
	t.Parallel()
	for input, why := range map[string]string{
		"*** Update File: f\n":                                                    "begins with the line *** Begin Patch",
		"*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n":                       "does not end with the line *** End Patch",
		"*** Begin Patch\n*** End Patch":                                          "names no file",
		"*** Begin Patch\nhello\n*** End Patch":                                   `line 2 of the patch: "hello" does not begin a file`,
		"*** Begin Patch\n*** Add File: f\nhello\n*** End Patch":                  "line 3 of the patch: every line of a new file",
		"*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch":           "line 5 of the patch: a line of a change",
		"*** Begin Patch\n*** Update File: f\n*** End Patch":                      "nothing is changed in f",
		"*** Begin Patch\n*** Update File: f\n@@ x\n*** End Patch":                "line 3 has no lines",
		"*** Begin Patch\n*** Update File:\n@@\n-a\n*** End Patch":                "the path is missing",
		"*** Begin Patch\n*** Update File: f\n*** Move to:\n@@\n*** End Patch":    "the path to move to is missing",
		"*** Begin Patch\n*** Update File: f\n*** End of File\n-a\n*** End Patch": "comes after the lines",
	} {
		if _, err := edit.ParsePatch(input); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %q", input, err, why)
		}
	}
}

func TestAPatchInAHereDocumentIsThePatch(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "a\r\n"})
	body := "*** Begin Patch\r\n*** Update File: f\r\n@@\r\n-a\r\n+b\r\n*** End Patch\r\n"
	w.ok(ApplyPatch(), in{"patch": "<<'EOF'\n" + body + "EOF\n"})
	if now := w.content("f"); now != "b\r\n" {
		t.Errorf("%q", now)
	}
}

// Models wrap a patch as they write it elsewhere: for a reader, or for a shell.
func TestAPatchInItsWrappingIsThePatch(t *testing.T) {
	t.Parallel()
	const body = "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** End Patch\n"
	for _, text := range []string{"```\n" + body + "```", "```patch\n" + body + "```\n", "~~~~\n" + body + "~~~~",
		"apply_patch <<'EOF'\n" + body + "EOF\n", "applypatch <<EOF\n" + body + "EOF", "apply_patch '" + body + "'",
		"```bash\napply_patch <<'EOF'\n" + body + "EOF\n```", "cd . && apply_patch << \"PATCH\"\n" + body + "PATCH"} {
		w := newFileWorld(t, map[string]string{"f": "a\n"})
		w.ok(ApplyPatch(), in{"input": text})
		if now := w.content("f"); now != "b\n" {
			t.Errorf("%q: %q", text, now)
		}
		if _, ok := ApplyPatch().FromText(text); !ok {
			t.Errorf("%q is no patch", text)
		}
	}
	for _, text := range []string{"```\n" + body, "apply_patch_now <<EOF\n" + body + "EOF", "apply_patch <<EOF\n" + body + "EOF\nrm -r x"} {
		if _, err := edit.ParsePatch(text); err == nil {
			t.Errorf("%q is a patch", text)
		}
	}
}

func TestAMarkInAPatchStandsForWhatIsThere(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "a\nb\ntoken = KEY-ONE\nc\nd\n"})
	w.env.Secrets = showMarks
	access, _, err := w.call(ApplyPatch(), patch("*** Update File: f\n@@\n token = "+oneMark+"\n c\n-d\n+e\n"))
	if now := w.content("f"); err != nil || now != "a\nb\ntoken = KEY-ONE\nc\ne\n" || access.MovesSecret != "" {
		t.Errorf("%q %q %v", now, access.MovesSecret, err)
	}
	access, _, err = w.call(ApplyPatch(), patch("*** Update File: f\n@@\n-token = "+oneMark+"\n+key = "+oneMark+"\n"))
	if now := w.content("f"); err != nil || now != "a\nb\nkey = KEY-ONE\nc\ne\n" || access.MovesSecret == "" {
		t.Errorf("%q %q %v", now, access.MovesSecret, err)
	}
	w.fails(ApplyPatch(), patch("*** Update File: f\n@@\n-a\n+"+oneMark+"\n"), "as often")
	w.fails(ApplyPatch(), patch("*** Update File: f\n@@ key = "+oneMark+"\n-c\n+d\n"), "follow @@")
}

func TestAPatchOfAPlaceThatIsClosedIsNotLookedAt(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"f": "a\n", ".env": "SECRET=1\n"})
	access, _, err := w.call(ApplyPatch(), patch("*** Update File: f\n@@\n-a\n+b\n*** Delete File: .env\n"))
	if err != nil || !access.Denied || access.Diff != "" {
		t.Errorf("%+v %v", access, err)
	}
	access, _, err = w.call(ApplyPatch(), patch("*** Update File: f\n*** Move to: ../outside/f\n@@\n-a\n+b\n"))
	if err != nil || !access.Outside || len(access.Paths) != 2 {
		t.Errorf("%+v %v", access, err)
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: f\n*** Move to: g\n@@ x\n a\n-b\n+c\n*** End of File\n*** End Patch", "x\na\nb\n")
	f.Add("<<'EOF'\n*** Begin Patch\n*** Update File: f\n@@\n+c\n\n*** End Patch\nEOF", "\xef\xbb\xbfx\r\n")
	f.Add("*** Begin Patch\n*** Add File: f\n+a\n\n*** Delete File: g\n*** End Patch", "“a”")
	f.Fuzz(func(t *testing.T, input, raw string) {
		sections, err := edit.ParsePatch(input)
		if err != nil {
			return
		}
		text, err := files.Decode([]byte(raw))
		if err != nil {
			return
		}
		for _, file := range sections {
			if file.Path == "" || file.Op == 0 {
				t.Fatalf("%+v", file)
			}
			edits, _, err := edit.ApplyChunks(text, file.Chunks)
			if err != nil {
				continue
			}
			at := 0
			for _, e := range edits {
				if e.Start < at || e.End < e.Start || e.End > len(text.Body) {
					t.Fatalf("%+v in %q", edits, text.Body)
				}
				at = e.End
			}
			if after := text.Apply(edits); after.Ends != nil && len(after.Ends) != max(strings.Count(after.Body, "\n"), 1) {
				t.Fatalf("%d line ends in %q", len(after.Ends), after.Body)
			}
		}
	})
}
