package cli

import (
	"strings"
	"unicode/utf8"
)

// width is the widest line of the help: what every terminal has.
const width = 80

// page is a help page in the making.
type page struct{ strings.Builder }

// heading starts a part of the page.
func (b *page) heading(text string) {
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	b.WriteString(text + "\n")
}

// row writes left at the margin and text beside it from column at, broken at
// blanks; when left is too long, text begins on the next line.
func (b *page) row(left string, at int, text string) {
	column := 2 + utf8.RuneCountInString(left)
	line := "  " + left
	if column > at-2 && text != "" {
		b.WriteString(line + "\n")
		line, column = "", 0
	}
	for i, l := range wrap(text, width-at) {
		if i > 0 {
			line, column = "", 0
		}
		b.WriteString(line + strings.Repeat(" ", at-column) + l + "\n")
	}
	if text == "" {
		b.WriteString(line + "\n")
	}
}

// para writes text from the margin, broken at blanks.
func (b *page) para(text string) {
	for _, l := range wrap(text, width) {
		b.WriteString(l + "\n")
	}
}

// wrap breaks text at blanks into lines of at most n characters; a word that
// is longer stands alone.
func wrap(text string, n int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > n:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
