package builtin

import (
	"fmt"
	"strings"
	"testing"
)

const testNotebook = `{"nbformat":4,"metadata":{"kernelspec":{"display_name":"Python 3"}},"cells":[
{"cell_type":"markdown","source":["# Title\n","text"]},
{"cell_type":"code","execution_count":3,"source":"print(1)\n","outputs":[
 {"output_type":"stream","name":"stdout","text":["\u001b[31m1\u001b[0m\n"]},
 {"output_type":"execute_result","data":{"text/plain":["<Figure>"],"image/png":"aaaa"}},
 {"output_type":"display_data","data":{"image/png":"aaaa"}},
 {"output_type":"error","ename":"ValueError","evalue":"bad","traceback":["x"]}]},
{"cell_type":"code","execution_count":null,"source":[],"outputs":[]}]}`

func TestReadNotebook(t *testing.T) {
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
	w := newFileWorld(t, map[string]string{"n.ipynb": `{"cells":[{"cell_type":"code","source":"x","outputs":[` +
		`{"text":"a\u001b[1;31mb\u001b[0mc\n1%\r2%\n"},{"text":"plain\u001b["}]}]}`})
	want := "notebook, 1 cell\n\n--- cell 1, code ---\nx\noutput:\nabc\n2%\noutput:\nplain\n"
	if text := w.ok(Read(), in{"path": "n.ipynb"}).Text; text != want {
		t.Errorf("%q, want %q", text, want)
	}
}
