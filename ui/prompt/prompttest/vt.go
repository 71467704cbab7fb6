// Package prompttest is a terminal for tests.
package prompttest

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// VT is as much of a terminal as artoo uses: rows that scroll, a cursor that
// stays in the last column after it was written, and the few sequences the
// prompt is drawn with. Everything else is an error.
type VT struct {
	Cols, Rows int
	Cells      [][]string // "" is the second half of a wide cluster
	Row, Col   int
	pending    bool // the last column was written
	Scrolled   []string
	Paste      bool
	Coded      int // how often keys by number were turned on and not off again
	Err        error
	rest       string
	wraps      map[int]bool // rows that go on in the next, with scrolled rows counted
	Marks      []string     // OSC 133, with where they stand: "A 0,0"
	Top        int          // the highest row the cursor went up to, with scrolled rows counted
}

// New is a terminal of that size.
func New(cols, rows int) *VT {
	v := &VT{Cols: cols, Rows: rows}
	for range rows {
		v.Cells = append(v.Cells, v.blank())
	}
	return v
}

func (v *VT) blank() []string {
	row := make([]string, v.Cols)
	for i := range row {
		row[i] = " "
	}
	return row
}

func (v *VT) Write(p []byte) (int, error) {
	s := v.rest + string(p)
	v.rest = ""
	for s != "" {
		n := v.step(s)
		if n == 0 {
			v.rest = s
			break
		}
		s = s[n:]
	}
	return len(p), nil
}

func (v *VT) step(s string) int {
	switch s[0] {
	case '\n':
		v.lineFeed()
		v.Col = 0 // the terminal's driver adds the return
		return 1
	case '\r':
		v.Col, v.pending = 0, false
		return 1
	case '\b':
		v.Col, v.pending = max(v.Col-1, 0), false
		return 1
	case '\a':
		return 1
	case 0x1b:
		return v.sequence(s)
	}
	end := strings.IndexAny(s, "\n\r\b\a\x1b")
	if end < 0 {
		end = len(s)
	}
	for clusters := displaywidth.StringGraphemes(s[:end]); clusters.Next(); {
		v.put(clusters.Value(), clusters.Width())
	}
	return end
}

func (v *VT) put(cluster string, width int) {
	if width == 0 {
		if v.Col > 0 {
			v.Cells[v.Row][v.Col-1] += cluster
		}
		return
	}
	if v.pending || v.Col+width > v.Cols {
		if v.wraps == nil {
			v.wraps = map[int]bool{}
		}
		v.wraps[v.Row+len(v.Scrolled)] = true
		v.lineFeed()
		v.Col = 0
	}
	v.Cells[v.Row][v.Col] = cluster
	for i := 1; i < width; i++ {
		v.Cells[v.Row][v.Col+i] = ""
	}
	v.Col += width
	if v.Col >= v.Cols {
		v.Col, v.pending = v.Cols-1, true
	}
}

func (v *VT) lineFeed() {
	v.pending = false
	if v.Row < v.Rows-1 {
		v.Row++
		return
	}
	v.Scrolled = append(v.Scrolled, strings.TrimRight(strings.Join(v.Cells[0], ""), " "))
	v.Cells = append(v.Cells[1:], v.blank())
}

func (v *VT) sequence(s string) int {
	if len(s) < 3 {
		return 0
	}
	if s[1] == ']' {
		return v.osc(s)
	}
	end := 2
	for end < len(s) && (s[end] < 0x40 || s[end] > 0x7e) {
		end++
	}
	if end == len(s) {
		return 0
	}
	params, final := s[2:end], s[end]
	n, err := strconv.Atoi(params)
	if err != nil || n < 1 {
		n = 1
	}
	switch {
	case s[1] == '[' && final == 'A':
		if v.Row-n < 0 {
			v.Err = fmt.Errorf("cursor up %d from row %d", n, v.Row)
		}
		v.Row = max(v.Row-n, 0)
		v.Top = min(v.Top, v.Row+len(v.Scrolled))
	case s[1] == '[' && final == 'C':
		v.Col = min(v.Col+n, v.Cols-1)
	case s[1] == '[' && final == 'D':
		v.Col = max(v.Col-n, 0)
	case s[1] == '[' && final == 'H' && params == "":
		v.Row, v.Col = 0, 0
	case s[1] == '[' && final == 'J' && params == "":
		v.erase(v.Row, v.Col)
		for i := v.Row + 1; i < v.Rows; i++ {
			v.erase(i, 0)
		}
	case s[1] == '[' && final == 'K' && params == "":
		v.erase(v.Row, v.Col)
	case s[1] == '[' && final == 'm':
	case s[1] == '[' && params == "?2004" && final == 'h':
		if v.Paste {
			v.Err = fmt.Errorf("?2004h twice")
		}
		v.Paste = true
	case s[1] == '[' && params == "?2004" && final == 'l':
		if !v.Paste {
			v.Err = fmt.Errorf("?2004l twice")
		}
		v.Paste = false
	case s[1] == '[' && params == ">1" && final == 'u':
		if v.Coded++; v.Paste {
			v.Err = fmt.Errorf("keys are reported by number after ?2004h")
		}
	case s[1] == '[' && params == "=4;2" && final == 'u' && v.Coded == 1:
	case s[1] == '[' && params == "<" && final == 'u':
		if v.Coded--; v.Coded < 0 || v.Paste {
			v.Err = fmt.Errorf("keys were not reported by number, or a paste may come")
		}
	default:
		v.Err = fmt.Errorf("unexpected sequence %q", s[:end+1])
	}
	v.pending = false
	return end + 1
}

func (v *VT) osc(s string) int {
	end := strings.Index(s, "\x1b\\")
	if end < 0 {
		return 0
	}
	if mark, ok := strings.CutPrefix(s[2:end], "133;"); ok {
		v.Marks = append(v.Marks, fmt.Sprintf("%s %d,%d", mark, v.Row, v.Col))
	} else {
		v.Err = fmt.Errorf("unexpected sequence %q", s[:end])
	}
	return end + 2
}

func (v *VT) erase(row, from int) {
	for i := from; i < v.Cols; i++ {
		v.Cells[row][i] = " "
	}
}

// Screen is the visible rows, without trailing blanks.
func (v *VT) Screen() []string {
	var rows []string
	for _, cells := range v.Cells {
		rows = append(rows, strings.TrimRight(strings.Join(cells, ""), " "))
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// All is everything that was ever on the screen.
func (v *VT) All() string {
	return strings.Join(append(append([]string(nil), v.Scrolled...), v.Screen()...), "\n")
}

// Joined is All with the rows joined that the terminal itself broke.
func (v *VT) Joined() string {
	var b strings.Builder
	for i, row := range strings.Split(v.All(), "\n") {
		b.WriteString(row)
		if !v.wraps[i] {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Resize gives the terminal another width. One that rewraps (tmux, VTE) joins
// the rows that it broke itself and breaks them again, the cursor stays on its
// character, and rows beyond the top go to the scrollback. One that does not
// (xterm, the Linux console) permanently cuts rows that are too wide, and leaves
// every row where it was.
func (v *VT) Resize(cols int, rewraps bool) {
	if !rewraps {
		for i, cells := range v.Cells {
			v.Cells[i] = fit(cells, cols)
		}
		v.Cols, v.Col, v.pending = cols, min(v.Col, cols-1), false
		return
	}
	var rows [][]string // all rows the terminal ever showed, broken again
	row, col := 0, 0    // the cursor is there
	wraps := map[int]bool{}
	var joined []string
	old := append(v.history(), v.Cells...)
	cursor := len(v.Scrolled) + v.Row
	for i, cells := range old {
		if i == cursor {
			row, col = len(rows)+(len(joined)+v.Col)/cols, (len(joined)+v.Col)%cols
		}
		joined = append(joined, cells...)
		if v.wraps[i] {
			continue
		}
		joined = trimmed(joined)
		for first := true; first || len(joined) > 0; first = false {
			n := min(len(joined), cols)
			rows = append(rows, fit(joined[:n], cols))
			if joined = joined[n:]; len(joined) > 0 {
				wraps[len(rows)-1] = true
			}
		}
		joined = nil
	}
	for len(rows) > row+1 && len(trimmed(rows[len(rows)-1])) == 0 {
		rows = rows[:len(rows)-1]
	}
	for len(rows) < row+1 || len(rows) < v.Rows {
		rows = append(rows, fit(nil, cols))
	}
	top := max(len(rows)-v.Rows, 0)
	v.Scrolled = nil
	for _, cells := range rows[:top] {
		v.Scrolled = append(v.Scrolled, strings.Join(trimmed(cells), ""))
	}
	v.Cells, v.wraps = rows[top:], wraps
	v.Cols, v.Row, v.Col, v.pending = cols, row-top, min(col, cols-1), false
}

// history is the scrollback as cells.
func (v *VT) history() [][]string {
	var rows [][]string
	for i, text := range v.Scrolled {
		cells := strings.Split(text, "")
		if v.wraps[i] {
			cells = fit(cells, v.Cols)
		}
		rows = append(rows, cells)
	}
	return rows
}

func fit(cells []string, cols int) []string {
	row := append(make([]string, 0, cols), cells[:min(len(cells), cols)]...)
	for len(row) < cols {
		row = append(row, " ")
	}
	return row
}

func trimmed(cells []string) []string {
	n := len(cells)
	for n > 0 && cells[n-1] == " " {
		n--
	}
	return cells[:n]
}
