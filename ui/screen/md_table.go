package screen

import (
	"slices"
	"strings"

	"artoo/ui/sanitize"
)

func (m *Markdown) readRow(s string) string {
	text, rest, whole := strings.Cut(s, "\n")
	if m.lead = append(m.lead, text...); whole {
		m.table = append(m.table, string(m.lead))
		m.lead, m.state = m.lead[:0], atStart
	}
	return rest
}

// flushTable shows whole rows, aligned when they fit, else as records. Without the line of
// dashes they are text.
func (m *Markdown) flushTable() {
	rows, head := m.table, m.tableHead
	if m.table = nil; len(rows) == 0 {
		return
	}
	save := m.hang
	defer func() { m.hang = save }()
	m.hang = strings.Repeat(" ", len(head))
	t := table{}
	if len(rows) < 2 || !t.dashes(rows[1]) {
		for _, row := range rows {
			m.row.started, m.head, m.held.spaces = false, head, 0
			m.row.labelLine()
			m.clearWord()
			m.state = inText
			m.feed(strings.TrimRight(row, " \t") + "\n")
		}
		return
	}
	for i, row := range rows {
		if i != 1 {
			t.rows = append(t.rows, m.parseRow(row))
		}
	}
	for _, heading := range t.rows[0] {
		for _, w := range heading {
			for i := range w {
				w[i].style |= bold
			}
		}
	}
	switch {
	case m.opt.Spoken:
		m.head = head
		m.labelHead()
		m.sentences(t)
	default:
		m.row.labelLine()
		if m.columns(head, t) {
			return
		}
		for i, record := range t.records() {
			if i > 0 {
				m.row.newline()
			}
			for _, words := range record {
				m.row.started, m.head, m.hang = false, head, head+"  "
				m.placeAll(words)
				m.row.newline()
			}
		}
	}
}

func (m *Markdown) parseRow(row string) [][]word {
	var out [][]word
	for _, text := range splitRow(row) {
		tokens := []token{{text: sanitize.Text(text, sanitize.Prose)}}
		if run := m.inlineRun([]byte(text)); !m.spent() && run.openAt() < 0 {
			tokens = m.inline(run.root, run.source, 0)
		}
		out = append(out, splitWords(tokens))
	}
	return out
}

// splitRow parts a row at the bars that are not escaped nor in a code span.
func splitRow(row string) []string {
	row = strings.TrimSpace(row)
	row = strings.TrimPrefix(row, "|")
	var out []string
	var b strings.Builder
	code := false
	for i := 0; i < len(row); i++ {
		switch c := row[i]; {
		case c == '\\' && i+1 < len(row) && row[i+1] == '|':
			i++
			b.WriteByte('|')
			continue
		case c == '`':
			code = !code && strings.IndexByte(row[i+1:], '`') >= 0
		case c == '|' && !code:
			out = append(out, cell(b.String()))
			b.Reset()
			continue
		}
		b.WriteByte(row[i])
	}
	if rest := strings.TrimSpace(b.String()); rest != "" {
		out = append(out, cell(rest))
	}
	return out
}

func cell(s string) string {
	// A tab is as wide as where it stands makes it: columns would not line up.
	return strings.TrimSpace(strings.NewReplacer("<br>", " ", "<br/>", " ", "<br />", " ", "\t", " ").Replace(s))
}

// table is a table that has been read whole.
type table struct {
	right []bool     // the columns whose cells end below each other
	rows  [][][]word // the first is the header
}

// records are the rows, each with its cells that are not empty behind their headers. The only
// row of a table has no header.
func (t *table) records() (all [][][]word) {
	heads, rows := t.rows[0], t.rows[1:]
	if len(rows) == 0 {
		heads, rows = nil, t.rows
	}
	for _, row := range rows {
		var record [][]word
		for c, words := range row {
			if len(words) == 0 {
				continue
			}
			if c < len(heads) && len(heads[c]) > 0 {
				words = append(ended(heads[c], ":"), words...)
			}
			record = append(record, words)
		}
		all = append(all, record)
	}
	return all
}

// ended is words with a mark behind the last.
func ended(words []word, mark string) []word {
	last := len(words) - 1
	return append(slices.Clone(words[:last]), append(slices.Clone(words[last]), token{text: mark}))
}

func (t *table) dashes(row string) bool {
	for _, c := range splitRow(row) {
		if strings.Trim(c, "-") != "" && strings.Trim(strings.Trim(c, ":"), "-") != "" || !strings.Contains(c, "-") {
			return false
		}
		t.right = append(t.right, strings.HasSuffix(c, ":") && !strings.HasPrefix(c, ":"))
	}
	return len(t.right) > 0
}

const columnGap = 2

// columns shows aligned rows and a line below the first. It reports false, and shows nothing,
// where a row would be as wide as the terminal.
func (m *Markdown) columns(head string, t table) bool {
	widths := make([]int, len(t.right))
	for _, row := range t.rows {
		for c, cell := range row {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], cellsOf(cell))
		}
	}
	all := columnGap * (len(widths) - 1)
	for _, width := range widths {
		all += width
	}
	if all > m.row.guard.width-1-len(head) {
		return false
	}
	for i, row := range t.rows {
		m.begin(head)
		at, col := 0, 0 // where the text ends, and where the column begins
		for c, cell := range row {
			begin := col
			if c < len(t.right) && t.right[c] {
				begin += widths[c] - cellsOf(cell)
			}
			if len(cell) > 0 {
				m.row.between(cell[0], begin-at)
				m.row.phrase(cell)
				at = begin + cellsOf(cell)
			}
			col += widths[c] + columnGap
		}
		m.row.newline()
		if i == 0 {
			m.begin(head)
			m.row.setStyle(dim)
			m.row.raw(strings.Repeat("-", all))
			m.row.newline()
		}
	}
	return true
}

func cellsOf(words []word) int {
	n := max(len(words)-1, 0)
	for _, w := range words {
		n += w.cells()
	}
	return n
}
