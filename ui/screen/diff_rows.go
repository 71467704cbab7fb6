package screen

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"artoo/tool/diff"
	texts "artoo/tool/text"
)

const (
	// detail is the indent of what belongs to a row.
	detail = "        "
	// numberCells is the column in which the numbers of lines end.
	numberCells = 7
	// Of a whole file with more than wholeLines lines the first and the last ones are shown.
	wholeLines = 20
	wholeHead  = 12
	wholeTail  = 4
	// comparedBytes is how long a change is at most whose words are compared.
	comparedBytes = 8 << 10
)

// diffView makes the rows in which people read a diff: number, sign and text.
type diffView struct {
	lay  *layout
	rows []string
	// hidden is how many lines of whole files are left out.
	hidden int

	// whole is the style of all lines of a file that is new or gone, and 0 for another one.
	whole style
	// colors reads the present hunk; nil without colours. lexers have read no line; their keys are the ends of names.
	colors *highlighter
	lexers map[string]*highlighter
	read   int
}

// files shows files, of which one alone needs no name where named says that it stands above.
func (v *diffView) files(files []diffFile, named bool) {
	for _, f := range files {
		v.head(f, named && len(files) == 1)
		v.colors = v.highlighter(f.to)
		lines := f.lines
		for i := 0; i < len(lines); {
			n := 1
			switch d := lines[i]; {
			case d.kind == fragLine && i > 0:
				v.gap("")
				v.colors = v.highlighter(f.to)
			case d.kind == fragLine:
			case v.whole != 0 && len(lines)-1 > wholeLines && i == 1+wholeHead:
				n = len(lines) - 1 - wholeHead - wholeTail
				v.hidden += n
				v.gap(texts.Count(n, "more line"))
			case v.whole == 0 && d.kind != sameLine:
				n = max(changeEnd(lines[i:]), 1)
				v.change(lines[i : i+n])
			default:
				v.line(d, nil)
			}
			i += n
		}
	}
}

// head names a file with its size, or says of one whose name stands above that it is new or gone.
func (v *diffView) head(f diffFile, named bool) {
	size := v.painted(addedStyle, fmt.Sprintf("+%d", f.added)) + " " +
		v.painted(removedStyle, v.lay.glyph("\u2212", "-")+fmt.Sprint(f.removed))
	switch v.whole = 0; {
	case f.note != "":
		size = f.note
	case f.from+f.to == "", named && f.from != "" && f.to != "":
		return
	case f.from == "":
		size, v.whole = "new, "+texts.Count(f.added, "line"), addedStyle
	case f.to == "":
		size, v.whole = "deleted, "+texts.Count(f.removed, "line"), removedStyle
	}
	if name := cmp.Or(f.to, f.from); name != "" && !named {
		size = v.painted(metaStyle, name) + "  " + size
	}
	v.rows = append(v.rows, detail+size)
}

// highlighter is one that has read no line; nil where there are no colours, or the user has others for such lines.
func (v *diffView) highlighter(name string) *highlighter {
	name, opt := path.Base(strings.Trim(name, `"`)), v.lay.opt
	if !opt.ErrColor || opt.Palette.begin(contextStyle) != "" {
		return nil
	}
	end := cmp.Or(path.Ext(name), name)
	h, known := v.lexers[end]
	if !known {
		h = newHighlighter(name, &v.read)
		v.lexers[end] = h
	}
	if h == nil {
		return nil
	}
	fresh := *h
	return &fresh
}

// changeEnd is how many lines belong to a change: those that are gone, then those that came.
func changeEnd(lines []diffLine) int {
	kind := removedLine
	for i, d := range lines {
		if d.kind == addedLine {
			kind = addedLine
		}
		if d.kind != kind && d.kind != endLine {
			return i
		}
	}
	return len(lines)
}

// change shows the lines of a change, with the words that differ.
func (v *diffView) change(lines []diffLine) {
	text, at, spans := map[diffKind]string{}, map[diffKind]int{}, map[diffKind][]diff.Span{}
	for _, d := range lines {
		if len(text[d.kind]) <= comparedBytes {
			text[d.kind] += d.text[1:] + "\n"
		}
	}
	if was, is := text[removedLine], text[addedLine]; was != "" && is != "" && len(was)+len(is) <= comparedBytes {
		spans[removedLine], spans[addedLine] = diff.Words(was, is)
	}
	for _, d := range lines {
		v.line(d, within(d.text[1:], at[d.kind], spans[d.kind]))
		at[d.kind] += len(d.text)
	}
}

// within are the spans in a line that begins at a place of their text; none where little of the line stayed. Two that
// only blanks part are one.
func within(line string, at int, spans []diff.Span) (own []diff.Span) {
	letters := func(text string) int { return len(strings.Join(strings.FieldsFunc(text, diff.NoWord), "")) }
	kept := letters(line)
	for _, s := range spans {
		s.Start, s.End = max(s.Start-at, 0), min(s.End-at, len(line))
		if s.Start >= s.End {
			continue
		}
		kept -= letters(line[s.Start:s.End])
		if n := len(own); n > 0 && strings.TrimSpace(line[own[n-1].End:s.Start]) == "" {
			s.Start, own = own[n-1].Start, own[:n-1]
		}
		own = append(own, s)
	}
	if kept == 0 || 3*kept < letters(line) {
		return nil
	}
	return own
}

// line shows a line with those of its parts that changed.
func (v *diffView) line(d diffLine, changed []diff.Span) {
	number, sign, base := d.to, " ", contextStyle
	switch d.kind {
	case removedLine:
		number, sign, base = d.from, "-", removedStyle
	case addedLine:
		sign, base = "+", addedStyle
	case endLine:
		number, sign, base = 0, `\`, dim
	}
	at := detail[:numberCells]
	if number > 0 {
		at = fmt.Sprintf("%*d", numberCells, number)
	}
	text := d.text[min(len(d.text), 1):]
	if d.kind == endLine {
		text = strings.TrimSpace(text)
	}
	v.row(at, token{text: sign, style: base}, v.parts(d.kind, text, base, changed))
}

// parts are the text of a line in its styles: one that stayed, or that is of a new file, has those of its language.
func (v *diffView) parts(kind diffKind, text string, base style, changed []diff.Span) (parts []token) {
	if v.colors != nil && (kind == sameLine || kind == addedLine) {
		// Lines that came are read for those below, even where their colours are not shown.
		parts = v.colors.line(text)
		for i := range parts {
			if v.whole == 0 {
				parts[i].style &^= bold
			}
		}
		if v.whole != 0 || kind == sameLine {
			return parts
		}
	}
	parts = nil
	at := 0
	for _, s := range changed {
		parts = append(parts, token{text: text[at:s.Start], style: base},
			token{text: text[s.Start:s.End], style: base | changedStyle})
		at = s.End
	}
	return append(parts, token{text: text[at:], style: base})
}

// gap parts two hunks.
func (v *diffView) gap(text string) {
	v.row(detail[:numberCells-1]+v.lay.glyph("\u22ee", ":"), token{text: " "}, []token{{text: text, style: dim}})
}

// row shows a line in as many rows as it takes, which go on below its text.
func (v *diffView) row(number string, sign token, text []token) {
	head := number + " " + sign.text + " "
	sign.text += " "
	parts := joinSpans(append([]token{{text: number, style: dim}, {text: " "}, sign}, text...))
	var b strings.Builder
	for _, t := range parts {
		b.WriteString(t.text)
	}
	line, mark := b.String(), strings.Repeat(" ", cells(head)-cells(v.lay.foldMark()))+v.lay.foldMark()
	if line == head {
		line = strings.TrimRight(line, " ")
	}
	rows, opt := []string{line}, v.lay.opt
	if opt.ErrTTY {
		rows = v.lay.foldLine(nil, line, "", mark)
	}
	for i, row := range rows {
		b.Reset()
		if i > 0 {
			b.WriteString(v.painted(dim, mark))
			row = row[len(mark):]
		}
		for row != "" {
			n := min(len(parts[0].text), len(row))
			b.WriteString(v.painted(parts[0].style, row[:n]))
			if row, parts[0].text = row[n:], parts[0].text[n:]; parts[0].text == "" {
				parts = parts[1:]
			}
		}
		v.rows = append(v.rows, b.String())
	}
}

func (v *diffView) painted(st style, text string) string {
	opt := v.lay.opt
	begin := opt.Palette.begin(st)
	if !opt.ErrColor || begin == "" || strings.TrimSpace(text) == "" {
		return text
	}
	return begin + text + endStyle()
}
