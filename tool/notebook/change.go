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
)

// IsType reports whether a cell can be of this type.
func IsType(name string) bool { return name == "code" || name == "markdown" || name == "raw" }

// Replace is the text of the notebook with another source in the cell at the index,
// which becomes one of the type; "" keeps the type. What a run of a code cell left is
// cleared.
func (n *Notebook) Replace(index int, source, kind string) string {
	c := n.Cells[index]
	old := c.Type
	if kind == "" {
		kind = old
	}
	set := map[string]string{"source": n.source(source, c, c.lines)}
	if kind != old {
		set["cell_type"] = n.quote(kind)
	}
	var drop []string
	if kind == "code" {
		drop = []string{"attachments"}
		for name, empty := range map[string]string{"execution_count": "null", "outputs": "[]"} {
			if _, has, _ := c.member(name); has || old != "code" {
				set[name] = empty
			}
		}
	} else if old == "code" {
		drop = []string{"execution_count", "outputs"}
	}
	return n.text[:c.from] + n.changed(c, set, drop) + n.text[c.to:]
}

// changed is the text of a cell with other values for some members and without others.
func (n *Notebook) changed(c Cell, set map[string]string, drop []string) string {
	type part struct {
		name, text string
		from       int // the index of the member that it was, -1 for a new one
	}
	var parts []part
	for i, m := range c.items {
		if slices.Contains(drop, m.name) {
			continue
		}
		text := n.text[m.from:m.value.to]
		if now, ok := set[m.name]; ok {
			text = n.text[m.from:m.value.from] + now
			delete(set, m.name)
		}
		parts = append(parts, part{m.name, text, i})
	}
	for _, name := range members {
		if now, ok := set[name]; ok {
			at := slices.IndexFunc(parts, func(p part) bool { return p.name > name })
			if at < 0 {
				at = len(parts)
			}
			parts = slices.Insert(parts, at, part{name, `"` + name + `"` + n.colon() + now, -1})
		}
	}
	around := n.around(c.value, n.around(n.list, n.around(n.root, layout{})))
	var b strings.Builder
	b.WriteString("{" + around.open)
	for i, p := range parts {
		switch {
		case i == 0:
		case p.from > 0 && parts[i-1].from == p.from-1:
			b.WriteString(n.text[c.items[p.from-1].value.to:c.items[p.from].from])
		default:
			b.WriteString(around.between)
		}
		b.WriteString(p.text)
	}
	b.WriteString(around.end + "}")
	return b.String()
}

// members are those that every cell of some type has, in the order in which Jupyter
// writes them.
var members = []string{"cell_type", "execution_count", "id", "metadata", "outputs", "source"}

// Insert is the text of the notebook with a new cell before the one at the index,
// which may be the number of cells.
func (n *Notebook) Insert(index int, source, kind string) string {
	list := n.around(n.list, n.around(n.root, layout{}))
	like := Cell{lines: true}
	if len(n.Cells) > 0 {
		like = n.Cells[max(index-1, 0)]
	}
	values := map[string]string{"cell_type": n.quote(kind), "metadata": "{}",
		"source": n.source(source, like, like.lines || like.Source == "" && n.mostlyLines())}
	if kind == "code" {
		values["execution_count"], values["outputs"] = "null", "[]"
	}
	if n.minor >= 5 {
		values["id"] = n.quote(n.newID(index, source))
	}
	around := n.around(like.value, list)
	var written []string
	for _, name := range members {
		if value, ok := values[name]; ok {
			written = append(written, `"`+name+`"`+n.colon()+value)
		}
	}
	cell := "{" + around.open + strings.Join(written, around.between) + around.end + "}"
	switch {
	case len(n.Cells) == 0:
		return n.text[:n.list.from] + "[" + list.open + cell + list.end + "]" + n.text[n.list.to:]
	case index == len(n.Cells):
		at := n.Cells[index-1].to
		return n.text[:at] + list.between + cell + n.text[at:]
	}
	at := n.Cells[index].from
	return n.text[:at] + cell + list.between + n.text[at:]
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

// mostlyLines reports whether the first cell that says anything has its source as a
// list of lines; true where none does.
func (n *Notebook) mostlyLines() bool {
	i := slices.IndexFunc(n.Cells, func(c Cell) bool { return c.Source != "" })
	return i < 0 || n.Cells[i].lines
}

// layout is what stands around the items of a list or an object.
type layout struct{ open, between, end string }

// around is the layout of a value: its own, or where it has too few items to show one,
// one that follows from that of what it is in.
func (n *Notebook) around(v value, outer layout) layout {
	l := layout{between: outer.between}
	if strings.Contains(outer.open, "\n") {
		open := outer.open + n.indent()
		l = layout{open: open, between: "," + open, end: outer.open}
	}
	if len(v.items) == 0 {
		return l
	}
	first, last := v.items[0], v.items[len(v.items)-1]
	own := layout{open: n.text[v.from+1 : first.from], end: n.text[last.value.to : v.to-1]}
	switch {
	case len(v.items) > 1:
		own.between = n.text[first.value.to:v.items[1].from]
	case strings.Contains(own.open, "\n"):
		own.between = "," + own.open
	default:
		own.between = "," + strings.TrimLeft(n.colon(), ":") // ": " goes with ", "
	}
	return own
}

// indent is one step of indentation.
func (n *Notebook) indent() string {
	open := n.text[n.root.from+1 : n.root.items[0].from] // it has cells
	return open[strings.LastIndexByte(open, '\n')+1:]
}

// colon is what stands between a name and its value.
func (n *Notebook) colon() string { return n.root.items[0].colon }

// source is a source as the cell has its own: a list of lines or one text.
func (n *Notebook) source(text string, c Cell, asLines bool) string {
	if !asLines {
		return n.quote(text)
	}
	if text == "" {
		return "[]"
	}
	around := n.around(n.sourceList(c), n.around(c.value, n.around(n.list, n.around(n.root, layout{}))))
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, n.quote(line))
	}
	return "[" + around.open + strings.Join(lines, around.between) + around.end + "]"
}

// sourceList is the source of the cell, where that is a list of lines, else that of the
// first cell that has such a one; empty for none.
func (n *Notebook) sourceList(c Cell) (most value) {
	for _, c := range append([]Cell{c}, n.Cells...) {
		at, _, _ := c.member("source") // Parse has read it
		if v := n.inside(at); c.lines && len(v.items) > len(most.items) {
			if most = v; len(v.items) > 1 {
				return v
			}
		}
	}
	return most
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
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// onlyASCII reports whether the file writes what is not ASCII in escapes.
func (n *Notebook) onlyASCII() bool {
	if strings.ContainsFunc(n.text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	escapes := strings.Split(strings.ReplaceAll(n.text, `\\`, ""), `\u`)[1:]
	return slices.ContainsFunc(escapes, func(s string) bool { return s >= "0080" }) // hexadecimal digits sort as they count
}
