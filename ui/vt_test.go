package ui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// vt is as much of a terminal as artoo uses: rows that scroll, a cursor that
// stays in the last column after it was written, and the few sequences the
// prompt is drawn with. Everything else is an error.
type vt struct {
	cols, rows int
	cells      [][]string // "" is the second half of a wide cluster
	row, col   int
	pending    bool // the last column was written
	scrolled   []string
	paste      bool
	coded      int // how often keysOn was written and not taken back
	err        error
	rest       string
	wraps      map[int]bool // rows that go on in the next, with scrolled rows counted
	marks      []string     // OSC 133, with where they stand: "A 0,0"
	top        int          // the highest row the cursor went up to, with scrolled rows counted
}

func newVT(cols, rows int) *vt {
	v := &vt{cols: cols, rows: rows}
	for range rows {
		v.cells = append(v.cells, v.blank())
	}
	return v
}

func (v *vt) blank() []string {
	row := make([]string, v.cols)
	for i := range row {
		row[i] = " "
	}
	return row
}

func (v *vt) Write(p []byte) (int, error) {
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

func (v *vt) step(s string) int {
	switch s[0] {
	case '\n':
		v.lineFeed()
		v.col = 0 // the terminal's driver adds the return
		return 1
	case '\r':
		v.col, v.pending = 0, false
		return 1
	case '\b':
		v.col, v.pending = max(v.col-1, 0), false
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

func (v *vt) put(cluster string, width int) {
	if width == 0 {
		if v.col > 0 {
			v.cells[v.row][v.col-1] += cluster
		}
		return
	}
	if v.pending || v.col+width > v.cols {
		if v.wraps == nil {
			v.wraps = map[int]bool{}
		}
		v.wraps[v.row+len(v.scrolled)] = true
		v.lineFeed()
		v.col = 0
	}
	v.cells[v.row][v.col] = cluster
	for i := 1; i < width; i++ {
		v.cells[v.row][v.col+i] = ""
	}
	v.col += width
	if v.col >= v.cols {
		v.col, v.pending = v.cols-1, true
	}
}

func (v *vt) lineFeed() {
	v.pending = false
	if v.row < v.rows-1 {
		v.row++
		return
	}
	v.scrolled = append(v.scrolled, strings.TrimRight(strings.Join(v.cells[0], ""), " "))
	v.cells = append(v.cells[1:], v.blank())
}

func (v *vt) sequence(s string) int {
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
		if v.row-n < 0 {
			v.err = fmt.Errorf("cursor up %d from row %d", n, v.row)
		}
		v.row = max(v.row-n, 0)
		v.top = min(v.top, v.row+len(v.scrolled))
	case s[1] == '[' && final == 'C':
		v.col = min(v.col+n, v.cols-1)
	case s[1] == '[' && final == 'D':
		v.col = max(v.col-n, 0)
	case s[1] == '[' && final == 'H' && params == "":
		v.row, v.col = 0, 0
	case s[1] == '[' && final == 'J' && params == "":
		v.erase(v.row, v.col)
		for i := v.row + 1; i < v.rows; i++ {
			v.erase(i, 0)
		}
	case s[1] == '[' && final == 'K' && params == "":
		v.erase(v.row, v.col)
	case s[1] == '[' && final == 'm':
	case s[1] == '[' && params == "?2004" && final == 'h':
		if v.paste {
			v.err = fmt.Errorf("?2004h twice")
		}
		v.paste = true
	case s[1] == '[' && params == "?2004" && final == 'l':
		if !v.paste {
			v.err = fmt.Errorf("?2004l twice")
		}
		v.paste = false
	case s[1] == '[' && params == ">1" && final == 'u':
		if v.coded++; v.paste {
			v.err = fmt.Errorf("keys are reported by number after ?2004h")
		}
	case s[1] == '[' && params == "=4;2" && final == 'u' && v.coded == 1:
	case s[1] == '[' && params == "<" && final == 'u':
		if v.coded--; v.coded < 0 || v.paste {
			v.err = fmt.Errorf("keys were not reported by number, or a paste may come")
		}
	default:
		v.err = fmt.Errorf("unexpected sequence %q", s[:end+1])
	}
	v.pending = false
	return end + 1
}

func (v *vt) osc(s string) int {
	end := strings.Index(s, "\x1b\\")
	if end < 0 {
		return 0
	}
	if mark, ok := strings.CutPrefix(s[2:end], "133;"); ok {
		v.marks = append(v.marks, fmt.Sprintf("%s %d,%d", mark, v.row, v.col))
	} else {
		v.err = fmt.Errorf("unexpected sequence %q", s[:end])
	}
	return end + 2
}

func (v *vt) erase(row, from int) {
	for i := from; i < v.cols; i++ {
		v.cells[row][i] = " "
	}
}

// screen is the visible rows, without trailing blanks.
func (v *vt) screen() []string {
	var rows []string
	for _, cells := range v.cells {
		rows = append(rows, strings.TrimRight(strings.Join(cells, ""), " "))
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

// all is everything that was ever on the screen.
func (v *vt) all() string {
	return strings.Join(append(append([]string(nil), v.scrolled...), v.screen()...), "\n")
}
