package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/jsonschema-go/jsonschema"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
	"artoo/tool/notebook"
	"artoo/tool/text"
)

type notebookInput struct {
	Path      string  `json:"path"`
	CellID    string  `json:"cell_id"`
	NewSource *string `json:"new_source"` // tells an empty source from none
	CellType  string  `json:"cell_type"`
	EditMode  string  `json:"edit_mode"`
}

// NotebookEdit is the tool that changes cells of Jupyter notebooks. It is offered where
// the project has some.
func NotebookEdit() tool.Tool {
	return tool.New(tool.Def{
		Name: "notebook_edit",
		Kind: tool.KindWrite, Fix: quoteNumber("cell_id"), For: ".ipynb",
		Description: "Replace, insert or delete a cell of a Jupyter notebook (.ipynb) that was read before; " +
			"all else in the file stays as it is. The outputs of a replaced code cell are cleared.",
		Schema: notebookSchema,
	}, planNotebook, runNotebook)
}

func notebookSchema() *jsonschema.Schema {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	return &jsonschema.Schema{
		Type: "object",
		Properties: map[string]*jsonschema.Schema{
			"path":       text("the notebook"),
			"cell_id":    text("id of the cell, or its number, as read shows them; a new cell comes after it, or first without it"),
			"new_source": text("the whole source of the cell"),
			"cell_type":  text("code, markdown or raw; needed to insert"),
			"edit_mode":  text("replace (if left out), insert or delete"),
		},
		PropertyOrder:        []string{"path", "cell_id", "new_source", "cell_type", "edit_mode"},
		Required:             []string{"path"},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

// cellChange is what a call does to a notebook.
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
	written, err := commitChange(env.Files, in.Path, func(t files.Place) (_ change, err error) {
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
		said = fmt.Sprintf("%s: cell %d (%s) was %s; ", c.Display, c.index+1, kindAndID(cell.Type, cell.ID), done)
	}
	if c.cleared {
		said += "its outputs were cleared; "
	}
	said += fmt.Sprintf("there are %s now\n%s", text.Count(len(c.now.Cells), "cell"), written.note)
	return tool.Result{Text: said, Summary: fmt.Sprintf("+%d -%d", c.added, c.removed)}, nil
}

// kindAndID is what a cell is called besides its number.
func kindAndID(kind, id string) string {
	if id != "" {
		return kind + ", id " + id
	}
	return kind
}

// changeCell finds out what the call does to the notebook.
func changeCell(ctx context.Context, e *tool.Env, t files.Place, in notebookInput) (c cellChange, err error) {
	if !isNotebook(t.Display) {
		return c, t.Errorf(nil, "is no notebook (.ipynb); use edit")
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
	c.change, err = newChange(t, state, old, before, before.Apply(udiff.Lines(before.Body, text)))
	if err != nil {
		return c, err
	}
	c.note, c.cells = note, cellShift{number, len(c.now.Cells) - len(c.was.Cells)}
	return c, c.show(before.Body)
}

// check says what is wrong with an input that fits the schema, and fills in what was
// left out.
func (in *notebookInput) check() error {
	in.EditMode, in.CellType = strings.ToLower(in.EditMode), strings.ToLower(in.CellType)
	if in.EditMode == "" {
		in.EditMode = "replace"
	}
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

// about is what a call is about in a notebook: the cell, and those above it where it is
// named by its number.
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

// cellTexts are the sources of a notebook, to compare: what a run leaves in it is not
// among them. A text that is no notebook is itself.
func cellTexts(body string) string {
	n, err := notebook.Parse(body)
	if err != nil {
		return body
	}
	var b strings.Builder
	for i, c := range n.Cells {
		fmt.Fprintf(&b, "--- cell %d, %s ---\n%s\n", i+1, kindAndID(c.Type, c.ID), strings.TrimSuffix(c.Source, "\n"))
	}
	return b.String()
}

// show makes the diff of the cell as read shows it, in place of the file's.
func (c *cellChange) show(before string) error {
	var was, now string
	if c.mode != "insert" {
		was = viewCell(before, c.index)
		c.cleared = c.mode == "replace" && c.was.Cells[c.index].Outputs && !c.now.Cells[c.index].Outputs
	}
	if c.mode != "delete" {
		now = viewCell(c.text, c.index)
	}
	name := c.Display + ", cell " + strconv.Itoa(c.index+1)
	unified, err := udiff.ToUnifiedDiff(edit.Label("a/"+name), edit.Label("b/"+name), was, udiff.Lines(was, now), udiff.DefaultContextLines)
	if err != nil {
		return c.Errorf(err, "cannot be compared: ")
	}
	c.diff = unified.String()
	c.added, c.removed = edit.CountDiff(unified)
	return nil
}

// isNotebook reports whether a file's name is that of a notebook.
func isNotebook(name string) bool { return strings.EqualFold(path.Ext(name), ".ipynb") }

// cellShift is where cells are afterwards: by more the ones from a number on, which is
// of the cell that was changed.
type cellShift struct{ number, by int }

// apply is which cells were shown, after the change.
func (s cellShift) apply(shown []files.Span) (now []files.Span) {
	if s.number == 0 {
		return shown
	}
	for _, span := range shown {
		for n := span.From; n < span.To; n++ {
			switch {
			case n < s.number:
				now = append(now, files.Span{From: n, To: n + 1})
			case n > s.number || s.by > 0:
				now = append(now, files.Span{From: n + s.by, To: n + s.by + 1})
			}
		}
	}
	if s.by >= 0 {
		now = append(now, files.Span{From: s.number, To: s.number + 1})
	}
	return files.JoinSpans(now)
}
