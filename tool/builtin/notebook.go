package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"artoo/tool"
	"artoo/tool/diff"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/notebook"
	"artoo/tool/shell"
	"artoo/tool/text"
)

type notebookInput struct {
	Path      string  `json:"path" jsonschema:"the notebook"`
	CellID    string  `json:"cell_id,omitempty" jsonschema:"id of the cell, or its number, as read shows them; a new cell comes after it, or first without it"`
	NewSource *string `json:"new_source,omitempty" jsonschema:"the whole source of the cell"` // nil is none, "" an empty one
	CellType  string  `json:"cell_type,omitempty" jsonschema:"code, markdown or raw; needed to insert"`
	EditMode  string  `json:"edit_mode,omitempty" jsonschema:"replace (if left out), insert or delete"`
}

// NotebookEdit is the tool that changes cells of Jupyter notebooks. It is offered where
// the project has some.
func NotebookEdit() tool.Tool {
	return tool.New(tool.Def{
		Name: "notebook_edit",
		Kind: tool.KindWrite, For: ".ipynb",
		Description: "Replace, insert or delete a cell of a Jupyter notebook (.ipynb) that was read before; " +
			"all else in the file stays as it is. The outputs of a replaced code cell are cleared.",
	}, planNotebook, runNotebook)
}

// cellChange is the change that a call makes to a notebook.
type cellChange struct {
	change
	was, now *notebook.Notebook
	mode     string
	index    int // counts cells from 0; insert gives the new cell this index
	cleared  bool
}

func planNotebook(ctx context.Context, env *tool.Env, in notebookInput) (tool.Access, error) {
	var c cellChange
	access, err := planChange(env.Files, "edit", in.Path, func(t files.Place) (_ change, err error) {
		c, err = changeCell(ctx, env, t, in)
		return c.change, err
	})
	if c.now != nil {
		access.Object += fmt.Sprintf(": %s cell %d", c.mode, c.index+1)
	}
	return access, err
}

func runNotebook(ctx context.Context, env *tool.Env, in notebookInput, _ io.Writer) (tool.Result, error) {
	var c cellChange
	written, err := commitChange(env, in.Path, func(t files.Place) (_ change, err error) {
		c, err = changeCell(ctx, env, t, in)
		return c.change, err
	})
	if err != nil {
		return tool.Result{}, err
	}
	said := fmt.Sprintf("%s: cell %d was deleted; ", c.Display, c.index+1)
	if c.mode != "delete" {
		cell, done := c.now.Cells[c.index], "replaced"
		if c.mode == "insert" {
			done = "inserted"
		}
		said = fmt.Sprintf("%s: cell %d (%s) was %s; ", c.Display, c.index+1, kindAndID(cell), done)
	}
	if c.cleared {
		said += "its outputs were cleared; "
	}
	said += fmt.Sprintf("there are %s now\n%s", text.Count(len(c.now.Cells), "cell"), written.note)
	return tool.Result{Text: said, Summary: fmt.Sprintf("+%d -%d", c.added, c.removed)}, nil
}

// kindAndID names a cell by its kind and ID, besides its number.
func kindAndID(c notebook.Cell) string {
	if c.ID == "" {
		return c.Type
	}
	return c.Type + ", id " + strings.Join(strings.Fields(c.ID), " ")
}

// changeCell finds out how the call changes the notebook.
func changeCell(ctx context.Context, e *tool.Env, t files.Place, in notebookInput) (c cellChange, err error) {
	if !isNotebook(t.Display) {
		return c, t.Errorf(nil, "is not a notebook (.ipynb); use edit")
	}
	if err := in.check(); err != nil {
		return c, err
	}
	before, old, state, err := t.LoadText()
	if err != nil {
		return c, err
	}
	if state.Missing {
		return c, missingFile(ctx, e, t, "write creates files")
	}
	seen, known := e.Files.Seen.Of(t.Abs)
	if !known {
		return c, t.Errorf(nil, "was not read yet; read it before changing its cells")
	}
	note, err := staleEdit(e.Files, t, state, before, cellTexts, func(text files.Text) ([]string, error) { return in.about(text.Body) })
	if err != nil {
		return c, err
	}
	c.was, err = notebook.Parse(before.Body)
	if err != nil {
		return c, t.Errorf(err, "")
	}
	c.mode = in.EditMode
	if c.index, err = in.index(c.was); err != nil {
		return c, t.Errorf(err, "")
	}
	number := c.index + 1
	if c.mode != "insert" && !seen.ShowsCell(number) {
		return c, t.Errorf(nil, "cell %d was not shown whole, and would be lost; read it first (offset=%d, limit=1)", number, number)
	}
	if err := before.Takes(in.source()); err != nil {
		return c, t.Errorf(err, "")
	}
	text := in.apply(c.was, c.index)
	if c.now, err = notebook.Parse(text); err != nil {
		return c, t.Errorf(err, "would not be a notebook any more: it ")
	}
	c.change, err = newChange(t, state, old, before, before.Apply(diff.Lines(before.Body, text)))
	if err != nil {
		return c, err
	}
	c.note, c.cells = note, cellShift{number, number + 1, 1 + len(c.now.Cells) - len(c.was.Cells)}
	if c.mode == "insert" {
		c.cells = cellShift{number, number, 1}
	}
	c.show()
	return c, nil
}

// check returns the error of an invalid input, and fills in defaults.
func (in *notebookInput) check() error {
	in.EditMode, in.CellType = strings.ToLower(cmp.Or(in.EditMode, "replace")), strings.ToLower(in.CellType)
	switch {
	case !slices.Contains([]string{"replace", "insert", "delete"}, in.EditMode):
		return fmt.Errorf("edit_mode is replace, insert or delete, not %.100q", in.EditMode)
	case in.CellID == "" && in.EditMode != "insert":
		return fmt.Errorf("cell_id is missing: which cell to %s, by its id or its number as read shows them", in.EditMode)
	case in.NewSource == nil && in.EditMode != "delete":
		return errors.New("new_source is missing: the whole source of the cell")
	case in.CellType == "" && in.EditMode == "insert":
		return errors.New("cell_type is missing: code, markdown or raw")
	case in.CellType != "" && !notebook.IsType(in.CellType):
		return fmt.Errorf("cell_type is code, markdown or raw, not %.100q", in.CellType)
	}
	return nil
}

func (in notebookInput) source() string {
	if in.NewSource == nil {
		return ""
	}
	return *in.NewSource
}

// index is that of the cell, of the new one for insert.
func (in notebookInput) index(n *notebook.Notebook) (int, error) {
	if in.EditMode == "insert" && in.CellID == "" {
		return 0, nil
	}
	at, err := n.Find(in.CellID)
	if err == nil && in.EditMode == "insert" {
		at++
	}
	return at, err
}

func (in notebookInput) apply(n *notebook.Notebook, index int) string {
	switch in.EditMode {
	case "insert":
		return n.Insert(index, in.source(), in.CellType)
	case "delete":
		return n.Delete(index)
	}
	return n.Replace(index, in.source(), in.CellType)
}

// about names the cell of a call, and those above it where it is named by number.
func (in notebookInput) about(text string) ([]string, error) {
	n, err := notebook.Parse(text)
	if err != nil || in.CellID == "" {
		return nil, err
	}
	last, err := n.Find(in.CellID)
	if err != nil {
		return nil, err
	}
	first := 0
	if n.Cells[last].ID == in.CellID {
		first = last
	}
	var cells []string
	for _, c := range n.Cells[first : last+1] {
		cells = append(cells, c.Type, c.Source)
	}
	return cells, nil
}

// cellTexts are the sources of a notebook, to compare; a text that is no notebook is itself.
func cellTexts(body string) string {
	n, err := notebook.Parse(body)
	if err != nil {
		return body
	}
	var b strings.Builder
	for i, c := range n.Cells {
		fmt.Fprintf(&b, "--- cell %d, %s ---\n%s\n", i+1, kindAndID(c), strings.TrimSuffix(c.Source, "\n"))
	}
	return b.String()
}

// show makes the diff of the cell as read shows it, in place of the file's.
func (c *cellChange) show() {
	view := func(n *notebook.Notebook, shown bool) string {
		if !shown {
			return ""
		}
		title, below := viewCell(n, c.index)
		return title + below
	}
	was, now := view(c.was, c.mode != "insert"), view(c.now, c.mode != "delete")
	c.cleared = c.mode == "replace" && c.was.Cells[c.index].Ran() && !c.now.Cells[c.index].Ran()
	name := c.Display + ", cell " + strconv.Itoa(c.index+1)
	unified := diff.Compare(git.Quote("a/"+name), git.Quote("b/"+name), was, now)
	c.shown = unified.String()
	c.added, c.removed = diff.Count(unified)
}

func isNotebook(name string) bool { return strings.EqualFold(path.Ext(name), ".ipynb") }

// cellOutput is how many bytes of a cell's output are shown.
const cellOutput = 2000

// showNotebook shows a notebook as cells; ok is false where it cannot be read as one.
func showNotebook(t files.Place, data []byte, in readInput, seen *files.ReadState) (result tool.Result, ok bool, err error) {
	body, err := files.Decode(data)
	if err != nil {
		return result, false, nil
	}
	nb, err := notebook.Parse(body.Body)
	if err != nil {
		return result, false, nil
	}
	cells := text.Count(len(nb.Cells), "cell")
	if in.Offset > max(1, len(nb.Cells)) {
		return result, false, t.Errorf(nil, "offset %d is past the end: there are %s", in.Offset, cells)
	}
	var b strings.Builder
	b.WriteString("notebook, " + cells)
	if nb.Kernel != "" {
		b.WriteString(", " + nb.Kernel)
	}
	b.WriteString("\n")
	last := min(in.Offset-1+in.Limit, len(nb.Cells))
	for i := in.Offset - 1; i < last; i++ {
		title, below := viewCell(nb, i)
		cell := "\n--- " + title + " ---" + below
		if b.Len()+len(cell) > in.bytes && i >= in.Offset {
			last = i
			break
		}
		cell, cut := text.CutLine(cell, in.bytes)
		if len(title)+len(nb.Cells[i].Source)+len("\n---  ---\n") <= in.bytes {
			seen.Cells = files.JoinSpans(append(seen.Cells, files.Span{From: i + 1, To: i + 2}))
		}
		b.WriteString(cell)
		if cut > 0 {
			fmt.Fprintf(&b, "\n[%s of this cell left out]\n", text.Bytes(int64(cut)))
		}
	}
	summary := cells
	if last < len(nb.Cells) {
		fmt.Fprintf(&b, "\n[cells %d-%d of %d; use offset=%d to continue]\n", in.Offset, last, len(nb.Cells), last+1)
		summary = fmt.Sprintf("cells %d-%d of %d", in.Offset, last, len(nb.Cells))
	}
	return tool.Result{Text: strings.ToValidUTF8(b.String(), "�"), Summary: summary}, true, nil
}

// viewCell is a cell of a notebook as read shows it: its title, and its lines.
func viewCell(n *notebook.Notebook, i int) (title, below string) {
	c := n.Cells[i]
	title = fmt.Sprintf("cell %d, %s", i+1, kindAndID(c))
	if c.Count != nil {
		title += fmt.Sprintf(", run %d", *c.Count)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(c.Source, "\n"))
	for _, out := range c.Outputs {
		var clean strings.Builder
		c := shell.NewCleaner(&clean)
		io.WriteString(c, outputText(out))
		c.Close()
		shown, cut := text.CutLine(strings.TrimSuffix(clean.String(), "\n"), cellOutput)
		if shown == "" {
			continue
		}
		fmt.Fprintf(&b, "output:\n%s\n", shown)
		if cut > 0 {
			fmt.Fprintf(&b, "[%s of output left out]\n", text.Bytes(int64(cut)))
		}
	}
	return title, b.String()
}

// outputText is an output in the simplest form it comes in.
func outputText(o notebook.Output) string {
	if o.Name != "" {
		return o.Name + ": " + o.Value
	}
	if o.Text != "" {
		return string(o.Text)
	}
	var plain notebook.Joined
	if err := json.Unmarshal(o.Data["text/plain"], &plain); err == nil && plain != "" {
		return string(plain)
	}
	for _, kind := range []string{"image/png", "image/jpeg", "image/svg+xml", "text/html", "application/json"} {
		if data, ok := o.Data[kind]; ok {
			return fmt.Sprintf("[%s, %s]", kind, text.Bytes(int64(len(data))))
		}
	}
	return ""
}
