package notebook

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jupyter is a notebook as nbformat writes it.
const jupyter = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {
    "tags": []
   },
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
    "1 + 2"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func parsed(t *testing.T, text string) *Notebook {
	t.Helper()
	n, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return n
}

func TestACellIsReplacedInTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	got := parsed(t, jupyter).Replace(1, "a = \"ä\"\nprint(a)\n", "")
	want := strings.NewReplacer(`"execution_count": 3`, `"execution_count": null`, `    "1 + 2"
`, `    "a = \"ä\"\n",
    "print(a)\n"
`, `"outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "3\n"
     ]
    }
   ]`, `"outputs": []`).Replace(jupyter)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(strings.Replace(jupyter, `[
    "# Title\n",
    "text"
   ]`, "[]", 1), parsed(t, jupyter).Replace(0, "", "")); diff != "" {
		t.Error(diff)
	}
}

func TestACellOfAnotherTypeHasWhatThatTypeHas(t *testing.T) {
	t.Parallel()
	text := parsed(t, jupyter).Replace(1, "# now text", "markdown")
	want := `  {
   "cell_type": "markdown",
   "id": "sum",
   "metadata": {
    "tags": []
   },
   "source": [
    "# now text"
   ]
  }
`
	if !strings.Contains(text, want) {
		t.Error(text)
	}
	text = parsed(t, text).Replace(1, "1 + 2", "code")
	want = `  {
   "cell_type": "code",
   "execution_count": null,
   "id": "sum",
   "metadata": {
    "tags": []
   },
   "outputs": [],
   "source": [
    "1 + 2"
   ]
  }
`
	if !strings.Contains(text, want) {
		t.Error(text)
	}
}

func TestACellIsInsertedInTheFormOfTheFile(t *testing.T) {
	t.Parallel()
	n := parsed(t, jupyter)
	for index := range 3 {
		got := n.Insert(index, "x = 1\n\ny = 2", "code")
		now := parsed(t, got)
		id := now.Cells[index].ID
		cell := fmt.Sprintf(`  {
   "cell_type": "code",
   "execution_count": null,
   "id": "%s",
   "metadata": {},
   "outputs": [],
   "source": [
    "x = 1\n",
    "\n",
    "y = 2"
   ]
  }`, id)
		if len(id) != 8 || !strings.Contains(got, cell) {
			t.Errorf("at %d:\n%s", index, got)
		}
		if diff := cmp.Diff(jupyter, now.Delete(index)); diff != "" {
			t.Errorf("at %d, taken away again: %s", index, diff)
		}
	}
	old := strings.Replace(jupyter, `"nbformat_minor": 5`, `"nbformat_minor": 4`, 1)
	if got := parsed(t, parsed(t, old).Insert(0, "x", "markdown")); got.Cells[0].ID != "" || got.Cells[0].Type != "markdown" {
		t.Errorf("%+v", got.Cells[0])
	}
}

func TestNotebooksInOtherFormsKeepThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, replaced, inserted string }{
		{"minified", `{"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["a"]}]}`,
			`{"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["b\n","c"]}]}`,
			`{"nbformat":4,"cells":[{"cell_type":"raw","metadata":{},"source":["a"]},{"cell_type":"raw","metadata":{},` +
				`"source":["b\n","c"]}]}`},
		{"one line with blanks, whole sources", `{"cells": [{"cell_type": "raw", "source": "a"}], "nbformat": 4}`,
			`{"cells": [{"cell_type": "raw", "source": "b\nc"}], "nbformat": 4}`,
			`{"cells": [{"cell_type": "raw", "source": "a"}, {"cell_type": "raw", "metadata": {}, "source": "b\nc"}], "nbformat": 4}`},
		{"tabs, an empty source", "{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t\"source\": []\n\t\t}\n\t]\n}",
			"{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t\"source\": [\n\t\t\t\t\"b\\n\",\n\t\t\t\t\"c\"\n\t\t\t]\n\t\t}\n\t]\n}",
			"{\n\t\"cells\": [\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t\"source\": []\n\t\t},\n\t\t{\n\t\t\t\"cell_type\": \"raw\",\n\t\t\t" +
				"\"metadata\": {},\n\t\t\t\"source\": [\n\t\t\t\t\"b\\n\",\n\t\t\t\t\"c\"\n\t\t\t]\n\t\t}\n\t]\n}"},
	} {
		n := parsed(t, c.text)
		if diff := cmp.Diff(c.replaced, n.Replace(0, "b\nc", "")); diff != "" {
			t.Errorf("%s, replaced: %s", c.name, diff)
		}
		if diff := cmp.Diff(c.inserted, n.Insert(1, "b\nc", "raw")); diff != "" {
			t.Errorf("%s, inserted: %s", c.name, diff)
		}
	}
	empty := "{\n \"cells\": [],\n \"nbformat\": 4\n}\n"
	got := parsed(t, empty).Insert(0, "b", "markdown")
	want := "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"metadata\": {},\n   \"source\": [\n    \"b\"\n   ]\n  }\n ],\n" +
		" \"nbformat\": 4\n}\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(empty, parsed(t, got).Delete(0)); diff != "" {
		t.Error(diff)
	}
}

func TestAFileInASCIIStaysSo(t *testing.T) {
	t.Parallel()
	text := `{"cells":[{"cell_type":"raw","source":["\u00e4"]}]}`
	if got := parsed(t, text).Replace(0, "ö😀\\", ""); !strings.Contains(got, `["\u00f6\ud83d\ude00\\"]`) {
		t.Error(got)
	}
	for _, text := range []string{`{"cells":[{"cell_type":"raw","source":["\\underline \u001b"]}]}`,
		`{"cells":[{"cell_type":"raw","source":["ä \u00e4"]}]}`} {
		if got := parsed(t, text).Replace(0, "ö <b> & \u001b", ""); !strings.Contains(got, `["ö <b> & \u001b"]`) {
			t.Error(got)
		}
	}
}

func TestWhatIsNoNotebookOfThisFormIsRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n \"cells\": [,]}":                         "is not valid JSON: line 2: ",
		"[]":                                          "is not a JSON object",
		`{"nbformat": 3, "worksheets": []}`:           "has nbformat 3, and only 4 is known here; convert it first",
		`{"nbformat": 4}`:                             "has no list of cells",
		`{"cells": {}}`:                               "has no list of cells",
		`{"cells": [], "cells": []}`:                  `has the key "cells" twice`,
		`{"cells": [{}, 7]}`:                          "number 2: it is not an object",
		`{"cells": [{"source": 7}]}`:                  "number 1: its source: ",
		`{"cells": [{"source": "a", "source": "b"}]}`: `has the key "source" twice`,
		`{"cells": [{"outputs": [], "outputs": [], "source": ""}]}`: `has the key "outputs" twice`,
		`{"cells": [{"id": 7}]}`:                                    "its id: ",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestACellIsNeverGuessed(t *testing.T) {
	t.Parallel()
	n := parsed(t, `{"cells":[{"id":"a"},{"id":"3"},{"id":"c"},{"id":"c"},{"id":"5"}]}`)
	for name, want := range map[string]int{"a": 0, "1": 0, "2": 1, "4": 3, "5": 4} {
		if got, err := n.Find(name); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", name, got, err, want)
		}
	}
	for name, want := range map[string]string{"3": "is the id of cell 2 and the number of another;", "c": "2 cells have the id",
		"6": "from 1 to 5", "0": "no cell 0", "cell-1": "no cell cell-1"} {
		if got, err := n.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %d, %v; want %q", name, got, err, want)
		}
	}
}

// shape is a notebook with random cells, in a random form.
func shape(r *rand.Rand) string {
	texts := []string{"", "a", "a\n", "ä = \"\\n\"\n\n# {[\",\n", "\t\r\n\u2028</b>😀"}
	cells := []any{}
	for range r.Intn(4) {
		text := texts[r.Intn(len(texts))]
		cell := map[string]any{"cell_type": []string{"code", "markdown", "raw"}[r.Intn(3)], "source": text,
			"metadata": map[string]any{"x": []any{1.5, nil, map[string]any{}}}}
		if r.Intn(2) == 0 {
			cell["source"] = strings.SplitAfter(text, "\n")
		}
		if r.Intn(2) == 0 {
			cell["id"] = fmt.Sprintf("%x", r.Int31())
		}
		if cell["cell_type"] == "code" {
			cell["execution_count"], cell["outputs"] = r.Intn(3), []any{map[string]any{"text": texts}}
		} else if r.Intn(3) == 0 {
			cell["attachments"] = map[string]any{}
		}
		cells = append(cells, cell)
	}
	root := map[string]any{"cells": cells, "nbformat": 4, "nbformat_minor": r.Intn(6), "a": 1, "z": []any{}}
	data, err := json.Marshal(root)
	if form := r.Intn(4); form > 0 {
		data, err = json.MarshalIndent(root, "", []string{"", " ", "\t"}[form-1])
	}
	if err != nil {
		panic(err)
	}
	return string(data) + []string{"", "\n", " \n\n"}[r.Intn(3)]
}

// TestNoByteOutsideOfTheCellChanges changes random notebooks, and reads the result with other code than the package's.
func TestNoByteOutsideOfTheCellChanges(t *testing.T) {
	t.Parallel()
	for seed := range int64(3000) {
		r := rand.New(rand.NewSource(seed))
		text := shape(r)
		changeRandomly(t, r, text)
	}
}

func changeRandomly(t *testing.T, r *rand.Rand, text string) {
	t.Helper()
	n, before := parsed(t, text), decoded(t, text)
	cells, _ := before["cells"].([]any)
	source := []string{"", "x", "x\n\"y\"\n", "é\u2028\\u00e9"}[r.Intn(4)]
	kind := []string{"code", "markdown", "raw"}[r.Intn(3)]
	how, index := r.Intn(3), r.Intn(len(n.Cells)+1)
	if len(n.Cells) == index {
		how = 1
	}
	var got string
	from, to := n.list.from+1, n.list.to-1
	switch how {
	case 0:
		got, from, to = n.Replace(index, source, kind), n.Cells[index].from, n.Cells[index].to
		cell := cells[index].(map[string]any)
		if cell["cell_type"] = kind; kind == "code" {
			delete(cell, "attachments")
			cell["outputs"], cell["execution_count"] = []any{}, nil
		} else if n.Cells[index].Type == "code" {
			delete(cell, "outputs")
			delete(cell, "execution_count")
		}
		cell["source"] = source
	case 1:
		got = n.Insert(index, source, kind)
		cell := map[string]any{"cell_type": kind, "metadata": map[string]any{}, "source": source}
		if kind == "code" {
			cell["outputs"], cell["execution_count"] = []any{}, nil
		}
		if n.minor >= 5 {
			cell["id"] = parsed(t, got).Cells[index].ID
		}
		cells = append(cells[:index:index], append([]any{cell}, cells[index:]...)...)
		if len(n.Cells) > 0 {
			from = n.Cells[max(index-1, 0)].to
			if index == 0 {
				from = n.Cells[0].from
			}
			to = from
		}
	case 2:
		got = n.Delete(index)
		cells = append(cells[:index:index], cells[index+1:]...)
	}
	before["cells"] = cells
	if !strings.HasPrefix(got, text[:from]) || !strings.HasSuffix(got, text[to:]) {
		t.Fatalf("more than the cell changed:\n%s\nbecame\n%s", text, got)
	}
	if diff := cmp.Diff(before, decoded(t, got), cmp.FilterPath(isSource, cmp.Comparer(sameSource))); diff != "" {
		t.Fatalf("%s\nbecame\n%s\n%s", text, got, diff)
	}
}

func decoded(t *testing.T, text string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return v
}

// isSource says where a text may also be a list of lines.
func isSource(p cmp.Path) bool {
	key, ok := p.Last().(cmp.MapIndex)
	return ok && key.Key().String() == "source"
}

func sameSource(a, b any) bool { return joined(a) == joined(b) }

func joined(source any) (text string) {
	lines, ok := source.([]any)
	if !ok {
		return source.(string)
	}
	for _, l := range lines {
		text += l.(string)
	}
	return text
}

func FuzzNotebook(f *testing.F) {
	f.Add(jupyter, int64(1))
	f.Add(`{"cells":[{"cell_type":"code","source":"a","outputs":[1 , 2 ],"execution_count" : 7 }]}`, int64(2))
	f.Fuzz(func(t *testing.T, text string, seed int64) {
		n, err := Parse(text)
		if err != nil {
			return
		}
		r := rand.New(rand.NewSource(seed))
		index := r.Intn(len(n.Cells) + 1)
		texts := []string{n.Insert(index, "x\ny", "code")}
		if index < len(n.Cells) {
			texts = append(texts, n.Replace(index, "x\ny", "markdown"), n.Replace(index, "x\ny", "code"), n.Delete(index))
		}
		for _, now := range texts {
			if _, err := Parse(now); err != nil {
				t.Errorf("%v\n%s", err, now)
			}
		}
	})
}
