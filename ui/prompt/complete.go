package prompt

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/displaywidth"

	"artoo/ui/sanitize"
)

// Completion is text that Tab may put in place of a part of the line.
type Completion struct {
	From, To   int // bytes of the text that a candidate replaces
	Candidates []Candidate
}

// Candidate is one way to go on. It is sanitised before it is shown.
type Candidate struct {
	Text string // replaces the bytes; a closing space is its own
	Help string // beside it in a list; may be ""
}

// Completer proposes candidates for a text with the cursor at a byte of it, within 50 ms. The
// prompt's goroutine calls it: it may not wait for the prompt.
type Completer func(text string, cursor int) Completion

// completeLine is Tab: it puts in the only completion, or shows all.
func (kb *keyboard) completeLine() {
	if kb.opt.Complete == nil {
		kb.canvas.beep()
		return
	}
	text := kb.ed.text()
	c := kb.opt.Complete(text, kb.ed.cursor())
	candidates := slices.DeleteFunc(slices.Clone(c.Candidates), func(c Candidate) bool {
		return c.Text == "" || !utf8.ValidString(c.Text) || strings.ContainsFunc(c.Text, unicode.IsControl) // no user could type it
	})
	if len(candidates) == 0 || c.From < 0 || c.To < c.From || c.To > len(text) {
		kb.canvas.beep()
		return
	}
	typed, common := text[c.From:c.To], candidates[0].Text
	for _, c := range candidates[1:] {
		n, _ := commonStart(common, c.Text)
		common = common[:n]
	}
	gained := len(common) > len(typed) || len(candidates) == 1 && common != typed
	switch {
	case gained:
		if !kb.ed.replace(c.From, c.To, common) {
			kb.canvas.beep()
		}
	case len(candidates) == 1:
		kb.canvas.beep()
	default:
		kb.above(func() { kb.list(candidates) })
	}
}

func (kb *keyboard) list(candidates []Candidate) {
	cols, rows := kb.opt.Size()
	cells := make([]string, len(candidates))
	width, help := 0, false
	for i, c := range candidates {
		cells[i] = sanitize.Text(strings.TrimSpace(c.Text), sanitize.Line)
		width = max(width, displaywidth.String(cells[i]))
		help = help || c.Help != ""
	}
	per := max((cols-1)/(width+2), 1)
	room := max(rows-3, 1)
	if help && (len(cells) <= room || per == 1) { // else none is hidden for the sake of the words beside them
		per = 1
		for i, c := range candidates {
			pad := strings.Repeat(" ", width-displaywidth.String(cells[i]))
			cells[i] = strings.TrimRight(cells[i]+pad+"  "+sanitize.Text(c.Help, sanitize.Line), " ")
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
	kb.screen.Line(strings.TrimSuffix(b.String(), "\n"))
}
