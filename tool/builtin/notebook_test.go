package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
)

// ranNotebook is a notebook that was run, as Jupyter writes it.
const ranNotebook = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\n"
     ]
    }
   ],
   "source": [
    "a = 1\n",
    "print(a + 2)"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func TestACellOfANotebookIsReplaced(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook})
	w.ok(Read(), in{"path": "n.ipynb"})
	access, result, err := w.call(NotebookEdit(), in{"notebook_path": "n.ipynb", "cell_id": "sum", "new_source": "a = 2\nprint(a + 2)"})
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Access{Kind: tool.KindWrite, Paths: []string{w.path("n.ipynb")}, Verb: "edit", Object: "n.ipynb: replace cell 2", Added: 2,
		Removed: 4, Diff: `--- a/n.ipynb, cell 2
+++ b/n.ipynb, cell 2
@@ -1,5 +1,3 @@
-cell 2, code, id sum, run 3
-a = 1
+cell 2, code, id sum
+a = 2
 print(a + 2)
-output:
-3
`, Outcomes: []tool.Outcome{{Path: w.path("n.ipynb"), Data: []byte(w.content("n.ipynb"))}}}
	want.Digest = access.Digest
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	text := "n.ipynb: cell 2 (code, id sum) was replaced; its outputs were cleared; there are 2 cells now\n"
	if diff := cmp.Diff(tool.Result{Text: text, Summary: "+2 -4"}, result); diff != "" {
		t.Error(diff)
	}
	now := strings.NewReplacer(`"execution_count": 3`, `"execution_count": null`, `"a = 1\n"`, `"a = 2\n"`, `[
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\n"
     ]
    }
   ]`, "[]").Replace(ranNotebook)
	if diff := cmp.Diff(now, w.content("n.ipynb")); diff != "" {
		t.Error(diff)
	}
}

func TestCellsAreInsertedAndDeletedWithoutReadingAgain(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook})
	w.ok(Read(), in{"path": "n.ipynb"})
	for _, step := range []struct {
		input in
		want  string
	}{
		{in{"cell_id": "intro", "new_source": "b", "cell_type": "code", "edit_mode": "insert"}, "cell 2 (code, id "},
		{in{"new_source": "first", "cell_type": "markdown", "edit_mode": "insert"}, "cell 1 (markdown, id "},
		{in{"cell_id": 3, "new_source": "c"}, "cell 3 (code, id "},
		{in{"cell_id": "sum", "edit_mode": "delete"}, "cell 4 was deleted; there are 3 cells now"},
		{in{"cell_id": "2", "edit_mode": "delete", "new_source": ""}, "cell 2 was deleted; there are 2 cells now"},
	} {
		step.input["path"] = "n.ipynb"
		if got := w.ok(NotebookEdit(), step.input).Text; !strings.Contains(got, step.want) {
			t.Errorf("%v: %q, want %q", step.input, got, step.want)
		}
	}
	got := w.ok(Read(), in{"path": "n.ipynb"}).Text
	if !strings.Contains(got, "---\nfirst\n") || !strings.Contains(got, "---\nc\n") || strings.Contains(got, "Title") {
		t.Error(got)
	}
}

func TestACellThatWasNotShownIsNotReplaced(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook})
	replace := in{"path": "n.ipynb", "cell_id": "2", "new_source": "x"}
	w.fails(NotebookEdit(), replace, "was not read yet")
	w.ok(Read(), in{"path": "n.ipynb", "limit": 1})
	w.fails(NotebookEdit(), replace, "cell 2 was not shown whole", "offset=2, limit=1")
	w.fails(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "2", "edit_mode": "delete"}, "cell 2 was not shown whole")
	w.ok(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "1", "new_source": "x", "cell_type": "raw", "edit_mode": "insert"})
	w.fails(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "3", "new_source": "x"}, "cell 3 was not shown whole")
	w.ok(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "2", "new_source": "y"})
	w.ok(Read(), in{"path": "n.ipynb", "offset": 3})
	w.ok(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "3", "new_source": "x"})
}

func TestANotebookThatTheModelHasRunIsEdited(t *testing.T) {
	t.Parallel()
	replace := in{"path": "n.ipynb", "cell_id": "2", "new_source": "x"}
	for name, c := range map[string]struct{ old, new, refused, note string }{
		"run again":               {`"3\n"`, `"4\n"`, "", "not the source of a cell"},
		"other facts of a cell":   {`"cell_type": "code"`, `"cell_type": "code", "x": 1`, "", "not the source of a cell"},
		"the cell is another":     {"a = 1", "a = 5", "-a = 1\n+a = 5", ""},
		"one above it is another": {"# Title", "# Head", "-# Title\n+# Head", ""},
	} {
		w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook})
		w.ok(Read(), in{"path": "n.ipynb"})
		done := w.env.Files.Seen.Watch().Done
		w.put(w.path("n.ipynb"), strings.Replace(ranNotebook, c.old, c.new, 1))
		done()
		if c.refused != "" {
			w.fails(NotebookEdit(), replace, "has changed since it was read", c.refused)
		} else if got := w.ok(NotebookEdit(), replace).Text; !strings.Contains(got, c.note) {
			t.Errorf("%s: %q", name, got)
		}
	}
	w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook})
	w.ok(Read(), in{"path": "n.ipynb"})
	w.put(w.path("n.ipynb"), strings.Replace(ranNotebook, `"3\n"`, `"4\n"`, 1))
	w.fails(NotebookEdit(), replace, "not by a command of yours")
}

func TestANotebookKeepsItsLineEndsAndMarks(t *testing.T) {
	t.Parallel()
	for name, form := range map[string]func(string) string{
		"CRLF":      func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
		"BOM":       func(s string) string { return "\ufeff" + s },
		"no end":    func(s string) string { return strings.TrimSuffix(s, "\n") },
		"two lines": func(s string) string { return s + "\n" },
	} {
		w := newFileWorld(t, map[string]string{"n.ipynb": form(ranNotebook)})
		if err := os.Chmod(w.path("n.ipynb"), 0o640); err != nil {
			t.Fatal(err)
		}
		w.ok(Read(), in{"path": "n.ipynb"})
		w.ok(NotebookEdit(), in{"path": "n.ipynb", "cell_id": "intro", "new_source": "# Head"})
		if diff := cmp.Diff(form(strings.Replace(ranNotebook, "# Title", "# Head", 1)), w.content("n.ipynb")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if info, err := os.Stat(w.path("n.ipynb")); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestWhatCannotBeDoneToANotebookIsSaid(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": ranNotebook, "old.ipynb": `{"nbformat": 3, "worksheets": []}`,
		"bad.ipynb": "{\n", "a.py": "x\n", "large.ipynb": `{"cells":[]}` + strings.Repeat(" ", files.MaxEdit)})
	for _, path := range []string{"n.ipynb", "old.ipynb", "bad.ipynb", "a.py"} {
		w.ok(Read(), in{"path": path})
	}
	for _, c := range []struct {
		input in
		want  string
	}{
		{in{"path": "old.ipynb", "cell_id": "1", "new_source": "x"}, "has nbformat 3, and only 4 is known here"},
		{in{"path": "bad.ipynb", "cell_id": "1", "new_source": "x"}, "is not valid JSON: line 2"},
		{in{"path": "a.py", "cell_id": "1", "new_source": "x"}, "is not a notebook (.ipynb); use edit"},
		{in{"path": "large.ipynb", "cell_id": "1", "new_source": "x"}, "the limit is"},
		{in{"path": "m.ipynb", "cell_id": "1", "new_source": "x"}, "near it: n.ipynb"},
		{in{"path": "n.ipynb", "cell_id": "7", "new_source": "x"}, "there is no cell 7"},
		{in{"path": "n.ipynb", "new_source": "x"}, "cell_id is missing"},
		{in{"path": "n.ipynb", "cell_id": "1"}, "new_source is missing"},
		{in{"path": "n.ipynb", "cell_id": "1", "new_source": "# Title"}, "already has exactly this content"},
		{in{"path": "n.ipynb", "cell_id": "1", "new_source": "x", "edit_mode": "insert"}, "cell_type is missing"},
		{in{"path": "n.ipynb", "cell_id": "1", "new_source": "x", "cell_type": "python"}, "cell_type is code, markdown or raw"},
		{in{"path": "n.ipynb", "cell_id": "1", "new_source": "x", "edit_mode": "append"}, "edit_mode is replace, insert or delete"},
	} {
		w.fails(NotebookEdit(), c.input, c.want)
	}
	if diff := cmp.Diff(ranNotebook, w.content("n.ipynb")); diff != "" {
		t.Error(diff)
	}
}

const testNotebook = `{"nbformat":4,"metadata":{"kernelspec":{"display_name":"Python 3"}},"cells":[
{"cell_type":"markdown","source":["# Title\n","text"]},
{"cell_type":"code","execution_count":3,"source":"print(1)\n","outputs":[
 {"output_type":"stream","name":"stdout","text":["\u001b[31m1\u001b[0m\n"]},
 {"output_type":"execute_result","data":{"text/plain":["<Figure>"],"image/png":"aaaa"}},
 {"output_type":"display_data","data":{"image/png":"aaaa"}},
 {"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["x"]}]},
{"cell_type":"code","execution_count":null,"source":[],"outputs":[]}]}`

func TestReadNotebook(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": testNotebook})
	result := w.ok(Read(), in{"path": "n.ipynb"})
	want := `notebook, 3 cells, Python 3

--- cell 1, markdown ---
# Title
text

--- cell 2, code, run 3 ---
print(1)
output:
1
output:
<Figure>
output:
[image/png, 6 bytes]
output:
ValueError: bad

--- cell 3, code ---

`
	if result.Text != want || result.Summary != "3 cells" {
		t.Errorf("%q\n%s", result.Summary, result.Text)
	}
	result = w.ok(Read(), in{"path": "n.ipynb", "offset": 2, "limit": 1})
	if !strings.HasSuffix(result.Text, "\n[cells 2-2 of 3; use offset=3 to continue]\n") ||
		strings.Contains(result.Text, "Title") {
		t.Errorf("part:\n%s", result.Text)
	}
	w.fails(Read(), in{"path": "n.ipynb", "offset": 4}, "past the end", "3 cells")
	if _, seen := w.env.Files.Seen.Of(w.path("n.ipynb")); !seen {
		t.Error("the notebook is not remembered")
	}
}

func TestReadLargeNotebook(t *testing.T) {
	t.Parallel()
	var cells []string
	for i := range 10 {
		cells = append(cells, fmt.Sprintf(`{"cell_type":"code","source":"c%d%s"}`, i, strings.Repeat("x", 20000)))
	}
	cells = append(cells, fmt.Sprintf(`{"cell_type":"raw","source":"%s"}`, strings.Repeat("y", 200000)))
	w := newFileWorld(t, map[string]string{"n.ipynb": `{"cells":[` + strings.Join(cells, ",") + `]}`,
		"bad.ipynb": "{\n", "old.ipynb": `{"worksheets":[]}`})
	text := w.ok(Read(), in{"path": "n.ipynb"}).Text
	if len(text) > readBytes+100 || !strings.HasSuffix(text, "[cells 1-5 of 11; use offset=6 to continue]\n") {
		t.Errorf("%d bytes, end %q", len(text), text[len(text)-60:])
	}
	text = w.ok(Read(), in{"path": "n.ipynb", "offset": 11}).Text
	if len(text) > readBytes+200 || !strings.Contains(text, "of this cell left out]") {
		t.Errorf("%d bytes, end %q", len(text), text[len(text)-60:])
	}
	for path, want := range map[string]string{"bad.ipynb": "     1\t{\n",
		"old.ipynb": "     1\t{\"worksheets\":[]}\n[no newline at the end]\n"} {
		if text := w.ok(Read(), in{"path": path}).Text; text != want {
			t.Errorf("%s: %q", path, text)
		}
	}
}

func TestOutputOfANotebookHasNoEscapes(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"n.ipynb": `{"cells":[{"cell_type":"code","source":"x","outputs":[` +
		`{"text":"a\u001b[1;31mb\u001b[0mc\n1%\r2%\n"},{"text":"plain\u001b["}]}]}`})
	want := "notebook, 1 cell\n\n--- cell 1, code ---\nx\noutput:\nabc\n2%\noutput:\nplain\n"
	if text := w.ok(Read(), in{"path": "n.ipynb"}).Text; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
