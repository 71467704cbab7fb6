// Package notebook reads Jupyter notebooks (nbformat 4), and changes their cells in the
// text of the file: all but the changed cell stays byte for byte.
package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Notebook is the text of a notebook's file, and where its cells are in it.
type Notebook struct {
	// Cells are the cells, in order.
	Cells []Cell
	// Kernel is the display name of the kernel, "" where the notebook names none.
	Kernel string

	text  string
	root  value // the whole object
	list  value // the list of cells
	minor int   // nbformat_minor
}

// Cell is a cell of a notebook.
type Cell struct {
	ID     string // "" where it has none
	Type   string // code, markdown or raw
	Source string
	// Count is the number that Jupyter gave to the cell's last run, nil for none.
	Count *int
	// Outputs are those of the cell's last run.
	Outputs []Output

	value
	lines bool // the source is a list of lines, not one text
}

// Ran reports whether a run left something in the cell.
func (c Cell) Ran() bool { return len(c.Outputs) > 0 || c.Count != nil }

// Output is a part of the output of a cell's run.
type Output struct {
	Text  Joined                     `json:"text"`
	Data  map[string]json.RawMessage `json:"data"` // has media types as keys
	Name  string                     `json:"ename"`
	Value string                     `json:"evalue"`
}

// Joined is a text that a notebook holds whole or as a list of lines.
type Joined string

// UnmarshalJSON takes both forms.
func (j *Joined) UnmarshalJSON(data []byte) error {
	var lines []string
	if err := json.Unmarshal(data, &lines); err == nil {
		*j = Joined(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(j))
}

// Parse reads a notebook. The text is UTF-8 without a byte order mark. The error continues
// a sentence that begins with "the notebook".
func Parse(text string) (*Notebook, error) {
	if err := json.Unmarshal([]byte(text), new(json.RawMessage)); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			line := strings.Count(text[:min(int(syntax.Offset), len(text))], "\n") + 1
			return nil, fmt.Errorf("is not valid JSON: line %d: %w", line, err)
		}
		return nil, fmt.Errorf("is not valid JSON: %w", err)
	}
	n := &Notebook{text: text}
	n.root = n.inside(span{0, len(text)})
	if n.root.kind != '{' {
		return nil, errors.New("is not a JSON object")
	}
	var format json.RawMessage
	if err := n.read(n.root, "nbformat", &format); err != nil {
		return nil, err
	}
	if format != nil && string(format) != "4" {
		return nil, fmt.Errorf("has nbformat %.20s, and only 4 is known here; convert it first, for example with "+
			"jupyter nbconvert --to notebook --inplace", format)
	}
	var metadata struct {
		Kernel struct {
			Name string `json:"display_name"`
		} `json:"kernelspec"`
	}
	_ = n.read(n.root, "nbformat_minor", &n.minor) // anything but a number is older
	_ = n.read(n.root, "metadata", &metadata)      // a notebook without it is one, too
	n.Kernel = metadata.Kernel.Name
	at, ok, err := n.root.member("cells")
	if err != nil {
		return nil, err
	}
	if n.list = n.inside(at); !ok || n.list.kind != '[' {
		return nil, errors.New("has no list of cells")
	}
	for i, item := range n.list.items {
		c, err := n.cell(item.value)
		if err != nil {
			return nil, fmt.Errorf("has a cell that cannot be read, number %d: %w", i+1, err)
		}
		n.Cells = append(n.Cells, c)
	}
	return n, nil
}

func (n *Notebook) cell(at span) (c Cell, err error) {
	if c.value = n.inside(at); c.kind != '{' {
		return c, errors.New("it is not an object")
	}
	var source Joined
	for _, member := range []struct {
		name string
		into any
	}{
		{"id", &c.ID}, {"cell_type", &c.Type}, {"source", &source}, {"execution_count", &c.Count}, {"outputs", &c.Outputs},
	} {
		if err := n.read(c.value, member.name, member.into); err != nil {
			return c, err
		}
	}
	c.Source = string(source)
	if at, ok, _ := c.member("source"); ok {
		c.lines = n.text[at.from] == '['
	}
	return c, nil
}

// read decodes the member of this name; a missing one leaves into as it is.
func (n *Notebook) read(v value, name string, into any) error {
	at, ok, err := v.member(name)
	if err != nil || !ok {
		return err
	}
	if err := json.Unmarshal([]byte(n.text[at.from:at.to]), into); err != nil {
		return fmt.Errorf("its %s: %w", name, err)
	}
	return nil
}

// Find is the index of the cell that name means: its id, or its number, from 1. It is
// never a guess between two.
func (n *Notebook) Find(name string) (int, error) {
	var found []int
	for i, c := range n.Cells {
		if c.ID != "" && c.ID == name {
			found = append(found, i)
		}
	}
	if len(found) > 1 {
		return 0, fmt.Errorf("%d cells have the id %s; give the number of the cell instead", len(found), name)
	}
	number, err := strconv.Atoi(name)
	counts := err == nil && number >= 1 && number <= len(n.Cells)
	switch {
	case counts && len(found) == 1 && found[0] != number-1:
		return 0, fmt.Errorf("%[1]s is the id of cell %[2]d and the number of another; give %[2]d for the first, or the id of "+
			"the other", name, found[0]+1)
	case len(found) == 1:
		return found[0], nil
	case counts:
		return number - 1, nil
	case len(n.Cells) == 0:
		return 0, errors.New("the notebook has no cells")
	}
	return 0, fmt.Errorf("there is no cell %.100s; cells are named by their id, or by their number from 1 to %d, as read "+
		"shows them", name, len(n.Cells))
}

// span is a part of the text, in bytes.
type span struct{ from, to int }

// value is an object or a list with its members; anything else has none.
type value struct {
	span
	kind  byte // the first of its text
	items []item
}

// item is an element of a list, or a member of an object.
type item struct {
	name  string
	value span
}

// inside reads a value of the text, which is valid JSON there.
func (n *Notebook) inside(at span) value {
	const blanks = " \t\r\n" // JSON allows these between its words
	text := n.text[at.from:at.to]
	blank := len(text) - len(strings.TrimLeft(text, blanks))
	v := value{span: span{at.from + blank, at.from + len(strings.TrimRight(text, blanks))}}
	if v.from >= v.to {
		return v
	}
	if v.kind = n.text[v.from]; v.kind != '{' && v.kind != '[' {
		return v
	}
	dec := json.NewDecoder(strings.NewReader(n.text[v.from:v.to]))
	if _, err := dec.Token(); err != nil {
		return v
	}
	for dec.More() {
		var one item
		if v.kind == '{' {
			name, err := dec.Token()
			if err != nil {
				return v
			}
			one.name, _ = name.(string)
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return v
		}
		end := v.from + int(dec.InputOffset())
		one.value = span{end - len(raw), end}
		v.items = append(v.items, one)
	}
	return v
}

// member is the value of an object's member; ok is false where there is none.
func (v value) member(name string) (at span, ok bool, err error) {
	is := func(i item) bool { return i.name == name }
	first := slices.IndexFunc(v.items, is)
	if v.kind != '{' || first < 0 {
		return span{}, false, nil
	}
	if slices.ContainsFunc(v.items[first+1:], is) {
		return span{}, false, fmt.Errorf("has the key %q twice in one object", name)
	}
	return v.items[first].value, true, nil
}
