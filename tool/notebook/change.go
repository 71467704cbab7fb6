package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"artoo/tool/text"
)

// IsType reports whether a cell can be of this type.
func IsType(name string) bool { return name == "code" || name == "markdown" || name == "raw" }

// member is a member of a cell, with its value as JSON.
type member struct{ name, value string }

// members are those that every cell of some type has, in the order in which Jupyter
// writes them.
var members = []string{"cell_type", "execution_count", "id", "metadata", "outputs", "source"}

// Replace is the text of the notebook with another source in the cell at the index, which becomes one of the type; ""
// keeps the type. The output of a code cell is cleared.
func (n *Notebook) Replace(index int, source, kind string) string {
	c := n.Cells[index]
	if kind == "" {
		kind = c.Type
	}
	set := map[string]string{"source": n.source(source, c.lines)}
	if kind != c.Type {
		set["cell_type"] = n.quote(kind)
	}
	var drop []string
	if kind == "code" {
		drop = []string{"attachments"}
		for name, empty := range map[string]string{"execution_count": "null", "outputs": "[]"} {
			if _, has, _ := c.member(name); has || c.Type != "code" {
				set[name] = empty
			}
		}
	} else if c.Type == "code" {
		drop = []string{"execution_count", "outputs"}
	}
	var cell []member
	for _, m := range c.items {
		if slices.Contains(drop, m.name) {
			continue
		}
		now, ok := set[m.name]
		if !ok {
			now = n.text[m.value.from:m.value.to]
		}
		delete(set, m.name)
		cell = append(cell, member{m.name, now})
	}
	for _, name := range members {
		if now, ok := set[name]; ok {
			at := slices.IndexFunc(cell, func(m member) bool { return m.name > name })
			if at < 0 {
				at = len(cell)
			}
			cell = slices.Insert(cell, at, member{name, now})
		}
	}
	return n.text[:c.from] + n.laidOut(n.object(cell), 2) + n.text[c.to:]
}

// Insert is the text of the notebook with a new cell before the one at the index,
// which may be the number of cells. Its source is a list of lines or one text, as that of
// the cell before it, or where that has none, of the first that has one.
func (n *Notebook) Insert(index int, source, kind string) string {
	like := Cell{lines: true}
	if len(n.Cells) > 0 {
		like = n.Cells[max(index-1, 0)]
	}
	if i := slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Source != "" }); like.Source == "" && !like.lines {
		like.lines = i < 0 || n.Cells[i].lines
	}
	values := map[string]string{"cell_type": n.quote(kind), "metadata": "{}", "source": n.source(source, like.lines)}
	if kind == "code" {
		values["execution_count"], values["outputs"] = "null", "[]"
	}
	if n.minor >= 5 {
		values["id"] = n.quote(n.newID(index, source))
	}
	var made []member
	for _, name := range members {
		if now, ok := values[name]; ok {
			made = append(made, member{name, now})
		}
	}
	if len(n.Cells) == 0 {
		return n.text[:n.list.from] + n.laidOut("["+n.object(made)+"]", 1) + n.text[n.list.to:]
	}
	between := n.between()
	if len(n.Cells) > 1 {
		between = n.text[n.Cells[0].to:n.Cells[1].from]
	}
	cell := n.laidOut(n.object(made), 2)
	if index == len(n.Cells) {
		at := n.Cells[index-1].to
		return n.text[:at] + between + cell + n.text[at:]
	}
	at := n.Cells[index].from
	return n.text[:at] + cell + between + n.text[at:]
}

// Delete is the text of the notebook without the cell at the index.
func (n *Notebook) Delete(index int) string {
	switch {
	case len(n.Cells) == 1:
		return n.text[:n.list.from] + "[]" + n.text[n.list.to:]
	case index == 0:
		return n.text[:n.Cells[0].from] + n.text[n.Cells[1].from:]
	}
	return n.text[:n.Cells[index-1].to] + n.text[n.Cells[index].to:]
}

// newID is an id that no cell has, and the same each time.
func (n *Notebook) newID(index int, source string) string {
	for try := 0; ; try++ {
		sum := sha256.Sum256(fmt.Append(nil, try, index, source, "\x00", n.text))
		id := fmt.Sprintf("%x", sum[:4])
		if !slices.ContainsFunc(n.Cells, func(c Cell) bool { return c.ID == id }) {
			return id
		}
	}
}

// object is the JSON of an object with these members.
func (n *Notebook) object(members []member) string {
	var written []string
	for _, m := range members {
		written = append(written, n.quote(m.name)+":"+m.value)
	}
	return "{" + strings.Join(written, ",") + "}"
}

// source is the JSON of a cell's source.
func (n *Notebook) source(text string, asLines bool) string {
	if !asLines {
		return n.quote(text)
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, n.quote(line))
	}
	return "[" + strings.Join(lines, ",") + "]"
}

// indent is one step of the file's indentation; ok is false for a file that is not indented.
func (n *Notebook) indent() (step string, ok bool) {
	open, _, _ := strings.Cut(n.text[n.root.from+1:], `"`)
	return open[strings.LastIndexByte(open, '\n')+1:], strings.Contains(open, "\n")
}

// between is the text between two cells.
func (n *Notebook) between() string {
	if step, ok := n.indent(); ok {
		return ",\n" + step + step
	}
	return "," + n.blank()
}

// blank is the space that a file of one line has after commas and colons, "" where it has none.
func (n *Notebook) blank() string {
	if first := n.root.items[0].value.from; n.text[first-1] == ' ' {
		return " "
	}
	return ""
}

// laidOut is a piece of JSON as the file is laid out, so many levels deep in it.
func (n *Notebook) laidOut(piece string, depth int) string {
	step, indented := n.indent()
	prefix := strings.Repeat(step, depth)
	var b bytes.Buffer
	if n.blank() == "" && !indented {
		_ = json.Compact(&b, []byte(piece)) // it is valid, here and below
		return b.String()
	}
	_ = json.Indent(&b, []byte(piece), prefix, step)
	if indented {
		return b.String()
	}
	return strings.NewReplacer(",\n", ", ", "\n", "").Replace(b.String()) // strings hold no line breaks in JSON
}

// quote is a text in JSON, all in ASCII where the file is kept so.
func (n *Notebook) quote(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		panic(err) // a string can always be written
	}
	quoted := strings.TrimSuffix(b.String(), "\n")
	if !n.onlyASCII() {
		return quoted
	}
	b.Reset()
	for _, r := range quoted {
		if r < utf8.RuneSelf {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// onlyASCII reports whether the file escapes characters outside ASCII.
func (n *Notebook) onlyASCII() bool {
	if !text.IsASCII(n.text) {
		return false
	}
	escapes := strings.Split(strings.ReplaceAll(n.text, `\\`, ""), `\u`)[1:]
	return slices.ContainsFunc(escapes, func(s string) bool { return s >= "0080" }) // hexadecimal digits sort as they count
}
