package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/shell"
	"artoo/tool/text"
)

// notebookView is the part of a Jupyter notebook (nbformat 4) that is shown.
type notebookView struct {
	Cells []struct {
		Kind    string           `json:"cell_type"`
		ID      any              `json:"id"` // a text, where the file is as it should be
		Source  joined           `json:"source"`
		Count   *int             `json:"execution_count"`
		Outputs []notebookOutput `json:"outputs"`
	} `json:"cells"`
	Metadata struct {
		Kernel struct {
			Name string `json:"display_name"`
		} `json:"kernelspec"`
	} `json:"metadata"`
}

type notebookOutput struct {
	Text  joined                     `json:"text"`
	Data  map[string]json.RawMessage `json:"data"`
	Name  string                     `json:"ename"`
	Value string                     `json:"evalue"`
}

// joined is a text that notebooks hold whole or as a list of lines.
type joined string

// UnmarshalJSON takes both forms.
func (j *joined) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err == nil {
		*j = joined(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(j))
}

// cellOutput is how many bytes of a cell's output are shown.
const cellOutput = 2000

// showNotebook shows a notebook as cells, or as the text it is if it cannot be
// read as one; as cells, none of the file's lines is seen.
func showNotebook(t files.Place, r io.Reader, size int64, in readInput, seen *files.Sight) (tool.Result, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return tool.Result{}, t.Errorf(err, "")
	}
	var nb notebookView
	if err := json.Unmarshal(raw, &nb); err != nil || nb.Cells == nil {
		return showText(t, strings.NewReader(string(raw)), size, in, true, seen)
	}
	if in.Offset > max(1, len(nb.Cells)) {
		return tool.Result{}, t.Errorf(nil, "offset %d is past the end: there are %s", in.Offset, text.Count(len(nb.Cells), "cell"))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "notebook, %s", text.Count(len(nb.Cells), "cell"))
	if nb.Metadata.Kernel.Name != "" {
		b.WriteString(", " + nb.Metadata.Kernel.Name)
	}
	b.WriteString("\n")
	last := min(in.Offset-1+in.Limit, len(nb.Cells))
	for i := in.Offset - 1; i < last; i++ {
		cell := nb.cell(i)
		if b.Len()+len(cell) > in.bytes && i >= in.Offset {
			last = i
			break
		}
		cell, cut := text.CutLine(cell, in.bytes)
		if len(nb.title(i))+len(nb.Cells[i].Source)+len("\n---  ---\n") <= in.bytes {
			seen.Cells = files.JoinSpans(append(seen.Cells, files.Span{From: i + 1, To: i + 2}))
		}
		b.WriteString(cell)
		if cut > 0 {
			fmt.Fprintf(&b, "\n[%s of this cell left out]\n", text.Bytes(int64(cut)))
		}
	}
	summary := text.Count(len(nb.Cells), "cell")
	if last < len(nb.Cells) {
		fmt.Fprintf(&b, "\n[cells %d-%d of %d; use offset=%d to continue]\n", in.Offset, last, len(nb.Cells), last+1)
		summary = fmt.Sprintf("cells %d-%d of %d", in.Offset, last, len(nb.Cells))
	}
	return tool.Result{Text: strings.ToValidUTF8(b.String(), "�"), Summary: summary}, nil
}

// viewCell is a cell of a notebook as read shows it, with the plain title.
func viewCell(body string, i int) string {
	var nb notebookView
	if json.Unmarshal([]byte(body), &nb) != nil || i >= len(nb.Cells) {
		return ""
	}
	return nb.title(i) + strings.TrimPrefix(nb.cell(i), fmt.Sprintf("\n--- %s ---", nb.title(i)))
}

// title is the line above a cell.
func (nb notebookView) title(i int) string {
	c := nb.Cells[i]
	id, _ := c.ID.(string)
	title := fmt.Sprintf("cell %d, %s", i+1, kindAndID(c.Kind, strings.Join(strings.Fields(id), " ")))
	if c.Count != nil {
		title += fmt.Sprintf(", run %d", *c.Count)
	}
	return title
}

func (nb notebookView) cell(i int) string {
	c := nb.Cells[i]
	var b strings.Builder
	fmt.Fprintf(&b, "\n--- %s ---\n%s\n", nb.title(i), strings.TrimSuffix(string(c.Source), "\n"))
	for _, out := range c.Outputs {
		var clean strings.Builder
		c := shell.NewCleaner(&clean)
		io.WriteString(c, out.text())
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
	return b.String()
}

// text is an output in the simplest form it comes in.
func (o notebookOutput) text() string {
	if o.Name != "" {
		return o.Name + ": " + o.Value
	}
	if o.Text != "" {
		return string(o.Text)
	}
	var plain joined
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
