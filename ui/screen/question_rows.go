package screen

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	texts "artoo/tool/text"
)

// Of more than maxRows rows a question shows the first and the last ones; the pager has all of
// them.
const (
	maxRows  = 400
	headRows = 250
	tailRows = 100
)

// tabStop is the distance of a terminal's tab stops, in cells.
const tabStop = 8

func (b *asking) rows(rows []string) {
	more := 0
	if b.cut && len(rows) > maxRows {
		more = len(rows) - headRows - tailRows
	}
	for i, r := range rows {
		switch {
		case more == 0 || i < headRows || i >= len(rows)-tailRows:
			b.WriteString(r + "\n")
		case i == headRows:
			b.left = true
			count := texts.Count(more, "more row")
			text := b.lay.words(b.lay.ellipsis()+" "+count+"; p shows all; y counts after that",
				count+". p reads all; y counts after that.")
			b.WriteString(b.lay.wrap(text, b.lay.bodyIndent(), b.lay.bodyIndent()))
		}
	}
}

func (lay *layout) bodyIndent() string { return lay.words(lay.body(), "") }

func (b *asking) dimmed(head, verb string) string {
	if !b.cut || b.lay.opt.Profile == Spoken {
		return head
	}
	styled := b.lay.styledHead(markBegun, verb)
	if rest, whole := strings.CutPrefix(head, b.lay.head(markBegun, verb)); whole {
		return styled + rest
	}
	return strings.TrimRight(styled, " ")
}

// tooLong reports whether lines take more rows than a question shows.
func (lay *layout) tooLong(lines []string) bool {
	n := 0
	for _, l := range lines {
		n += cells(l)/lay.width() + 1
	}
	return n > maxRows
}

// fold makes rows of lines, and breaks one that is wider than the terminal: rows that go on
// begin with a mark, so that none can be taken for a line. Indented lines are left whole, to be
// copied, and so are all where rows are not seen. first begins the first line, next the others.
func (lay *layout) fold(lines []string, first, next string, cut bool) []string {
	whole := next != "" || !lay.opt.ErrTTY || lay.opt.Profile == Spoken
	if !cut || whole && !lay.tooLong(lines) {
		rows := make([]string, len(lines))
		for i, l := range lines {
			if rows[i] = first + l; l == "" {
				rows[i] = strings.TrimRight(first, " ")
			}
			first = next
		}
		return rows
	}
	mark := lay.foldMark()
	if len(next) >= len(mark) {
		mark = next[:len(next)-cells(mark)] + mark
	}
	var rows []string
	for _, l := range lines {
		rows = lay.foldLine(rows, l, first, mark)
		first = next
	}
	return rows
}

// foldMark stands in a column of its own.
func (lay *layout) foldMark() string { return lay.glyph("\u21aa ", "> ") }

// foldLine appends the rows of one line. The last column stays free, since terminals differ in
// its treatment.
func (lay *layout) foldLine(rows []string, l, first, mark string) []string {
	if l = lay.ascii(l); l == "" {
		return append(rows, strings.TrimRight(first, " "))
	}
	most := max(lay.width()-1, cells(mark)+2)
	var b strings.Builder
	b.WriteString(first)
	col := cells(first)
	for g := displaywidth.StringGraphemes(l); g.Next(); {
		width := g.Width()
		if g.Value() == "\t" {
			width = tabStop - col%tabStop
		}
		if col+width > most && col > cells(mark) {
			rows = append(rows, b.String())
			b.Reset()
			b.WriteString(mark)
			if col = cells(mark); g.Value() == "\t" {
				width = tabStop - col%tabStop
			}
		}
		b.WriteString(g.Value())
		col += width
	}
	return append(rows, b.String())
}
