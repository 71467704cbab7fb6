// Package notebook changes cells of Jupyter notebooks (nbformat 4) in the text that
// they are in their files: what a change is not about stays byte for byte.
package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Notebook is a notebook as the text in its file, and where its cells are in it.
type Notebook struct {
	// Cells are the cells, in order.
	Cells []Cell

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
	// Outputs says that it has outputs, or a number that says it was run.
	Outputs bool

	value
	lines bool // the source is a list of lines, not one text
}

// Parse reads a notebook. The text is UTF-8 without a byte order mark. The error says
// why it cannot be changed, after the words "the notebook".
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
		return nil, errors.New("is no JSON object")
	}
	if at, ok, err := n.root.member("nbformat"); err != nil {
		return nil, err
	} else if ok && text[at.from:at.to] != "4" {
		return nil, fmt.Errorf("has nbformat %.20s, and only 4 is known here; convert it first, for example with "+
			"jupyter nbconvert --to notebook --inplace", text[at.from:at.to])
	}
	if at, ok, err := n.root.member("nbformat_minor"); err != nil {
		return nil, err
	} else if ok {
		n.minor, _ = strconv.Atoi(text[at.from:at.to]) // anything else is older
	}
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
		return c, errors.New("it is no object")
	}
	for name, into := range map[string]any{"id": &c.ID, "cell_type": &c.Type} {
		at, ok, err := c.member(name)
		if err == nil && ok {
			err = json.Unmarshal([]byte(n.text[at.from:at.to]), into)
		}
		if err != nil {
			return c, fmt.Errorf("its %s: %w", name, err)
		}
	}
	source, ok, err := c.member("source")
	if err != nil || !ok {
		return c, err
	}
	if c.lines = n.text[source.from] == '['; c.lines {
		var lines []string
		err = json.Unmarshal([]byte(n.text[source.from:source.to]), &lines)
		c.Source = strings.Join(lines, "")
	} else {
		err = json.Unmarshal([]byte(n.text[source.from:source.to]), &c.Source)
	}
	if err != nil {
		return c, fmt.Errorf("its source: %w", err)
	}
	for name, cleared := range map[string]string{"outputs": "[]", "execution_count": "null"} {
		at, ok, err := c.member(name)
		if err != nil {
			return c, err
		}
		c.Outputs = c.Outputs || ok && n.text[at.from:at.to] != cleared
	}
	return c, nil
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
		return 0, fmt.Errorf("%d cells have the id %s; give the number of the one that is meant", len(found), name)
	}
	number, err := strconv.Atoi(name)
	counts := err == nil && number >= 1 && number <= len(n.Cells)
	switch {
	case counts && len(found) == 1 && found[0] != number-1:
		return 0, fmt.Errorf("%[1]s is the id of cell %[2]d and the number of another one; give %[2]d for the one, or the id of "+
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

// value is an object or a list with what it holds; anything else holds nothing.
type value struct {
	span
	kind  byte // the first of its text
	items []item
}

// item is an element of a list, or a member of an object.
type item struct {
	from  int // where it begins: a member with its name
	name  string
	colon string // between name and value
	value span
}

// inside reads a value of the text, which is valid JSON there.
func (n *Notebook) inside(at span) value {
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
	here := func() int { return v.from + int(dec.InputOffset()) }
	if _, err := dec.Token(); err != nil {
		return v
	}
	for dec.More() {
		begins := here()
		begins += strings.IndexFunc(n.text[begins:], func(r rune) bool { return !strings.ContainsRune(blanks+",", r) })
		one := item{from: begins}
		named := begins
		if v.kind == '{' {
			name, err := dec.Token()
			if err != nil {
				return v
			}
			one.name, _ = name.(string)
			named = here()
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return v
		}
		one.value = span{here() - len(raw), here()}
		one.colon = n.text[named:one.value.from]
		v.items = append(v.items, one)
	}
	return v
}

// blanks are what JSON allows between its words.
const blanks = " \t\r\n"

// member is the value of an object's member; ok is false where there is none.
func (v value) member(name string) (at span, ok bool, err error) {
	is := func(i item) bool { return i.name == name }
	first := slices.IndexFunc(v.items, is)
	if v.kind != '{' || first < 0 {
		return span{}, false, nil
	}
	if slices.ContainsFunc(v.items[first+1:], is) {
		return span{}, false, fmt.Errorf("names %q twice in one object, and nobody can tell which of the two counts", name)
	}
	return v.items[first].value, true, nil
}
