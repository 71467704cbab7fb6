package ui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"artoo/ui/sanitize"
)

// completeLine is Tab: it puts in what can only be meant, and when that is
// nothing more, shows what there is.
func (f *keyReader) completeLine() {
	if f.complete == nil {
		f.frame.beep()
		return
	}
	text := f.ed.text()
	c := f.complete(text, f.ed.cursor())
	candidates := slices.DeleteFunc(slices.Clone(c.candidates), func(c candidate) bool { return !isLineText(c.text) })
	if len(candidates) == 0 || c.from < 0 || c.to < c.from || c.to > len(text) {
		f.frame.beep()
		return
	}
	typed, common := text[c.from:c.to], commonText(candidates)
	gained := len(common) > len(typed) || len(candidates) == 1 && common != typed
	switch {
	case gained:
		if !f.ed.replace(c.from, c.to, common) {
			f.frame.beep()
		}
	case len(candidates) == 1:
		f.frame.beep()
	default:
		f.above(func() { f.list(candidates) })
	}
}

// isLineText says whether the user could have typed text. What could not be
// typed, such as a name with a newline in it, cannot be completed either.
func isLineText(text string) bool {
	for i, r := range text {
		if !isTypable(r, len(text[i:])) {
			return false
		}
	}
	return text != ""
}

// commonText is how all candidates begin, in whole characters.
func commonText(candidates []candidate) string {
	common := candidates[0].text
	for _, c := range candidates[1:] {
		n, _ := commonStart(common, c.text)
		common = common[:n]
	}
	return common
}

// list prints candidates as plain lines, as many as leave room for the prompt.
func (f *keyReader) list(candidates []candidate) {
	cols, rows := f.size()
	cells := make([]string, len(candidates))
	width, help := 0, false
	for i, c := range candidates {
		cells[i] = sanitize.Text(strings.TrimSpace(c.text), sanitize.Line)
		width = max(width, displaywidth.String(cells[i]))
		help = help || c.help != ""
	}
	per := max((cols-1)/(width+2), 1)
	room := max(rows-3, 1)
	if help && (len(cells) <= room || per == 1) { // else none is hidden for the sake of the words beside them
		per = 1
		for i, c := range candidates {
			pad := strings.Repeat(" ", width-displaywidth.String(cells[i]))
			cells[i] = strings.TrimRight(cells[i]+pad+"  "+sanitize.Text(c.help, sanitize.Line), " ")
		}
	}
	shown := len(cells)
	if (shown+per-1)/per > room {
		shown = max(room-1, 1) * per
	}
	var b strings.Builder
	lines := (shown + per - 1) / per
	for i := range lines {
		var row strings.Builder
		for j := i; j < shown; j += lines { // down the columns, as ls does
			cell := cells[j]
			if j+lines < shown {
				cell += strings.Repeat(" ", max(width+2-displaywidth.String(cell), 0))
			}
			row.WriteString(cell)
		}
		b.WriteString(displaywidth.TruncateString(row.String(), cols-1, "…") + "\n")
	}
	if rest := len(cells) - shown; rest > 0 {
		fmt.Fprintf(&b, "… %d more\n", rest)
	}
	f.screen.Line(strings.TrimSuffix(b.String(), "\n"))
}
