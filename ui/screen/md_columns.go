package screen

import (
	"bytes"
	"html"
	"strings"

	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
	"github.com/yuin/goldmark/ast"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"artoo/ui/sanitize"
)

// columns are the rows of a table, its cells below each other; nil when a row
// would be as wide as the terminal. glamour lays it out. It gets the table as a
// tree: in its source cells would be parsed, decoded and made safe once more.
func (m *Markdown) columns(t table, room int) []string {
	var align []tables.Alignment
	for i := range t.columns() {
		if align = append(align, tables.AlignNone); i < len(t.right) && t.right[i] {
			align[i] = tables.AlignRight
		}
	}
	tree := tables.NewTable()
	tree.Alignments = align
	var source []byte
	for i, cells := range t.rows {
		row := tables.NewTableRow(align)
		for c := range align {
			begin := len(source)
			if c < len(cells) {
				source = append(source, glamourText(m.phrase(cells[c]))...)
			}
			cell := tables.NewTableCell()
			cell.AppendChild(cell, ast.NewTextSegment(text.NewSegment(begin, len(source))))
			row.AppendChild(row, cell)
		}
		if i == 0 {
			tree.AppendChild(tree, tables.NewTableHeader(row))
		} else {
			tree.AppendChild(tree, row)
		}
	}
	document := ast.NewDocument()
	document.AppendChild(document, tree)
	none, line := "", "-"
	look := ansi.StyleConfig{Table: ansi.StyleTable{ColumnSeparator: &none, CenterSeparator: &none, RowSeparator: &line}}
	glamour := ansi.NewRenderer(ansi.Options{Styles: look, ColorProfile: termenv.Ascii})
	var out bytes.Buffer
	r := renderer.NewRenderer(renderer.WithNodeRenderers(util.Prioritized(glamour, 1)))
	if err := r.Render(&out, source, document); err != nil {
		return nil
	}
	var rows []string
	all := strings.TrimSuffix(strings.Trim(out.String(), "\n"), "\x1b[0m") // it takes a link for an open style
	for row := range strings.SplitSeq(all, "\n") {
		row = row[1 : len(row)-1] // the margins of the outer columns
		if row = strings.TrimRight(row, " "); cells(sanitize.StripSequences(row)) > room {
			return nil
		}
		rows = append(rows, row)
	}
	return rows
}

// glamourText is text that glamour, which decodes entities and escapes, shows as
// it is.
func glamourText(s string) string { return html.EscapeString(strings.ReplaceAll(s, `\`, `\\`)) }

// phrase is words one blank apart, in their styles.
func (m *Markdown) phrase(words []word) string {
	part := Markdown{opt: m.opt}
	part.guard.trust(0)
	for i, w := range words {
		if i > 0 {
			part.between(w, 1)
		}
		for _, t := range w {
			part.put(t)
		}
	}
	part.setStyle(0)
	return string(part.buf)
}
