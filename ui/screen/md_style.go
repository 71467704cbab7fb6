package screen

import (
	"strconv"
	"strings"
)

// style is how a stretch of text looks: a set of the styles below.
type style uint8

// Of the sixteen colours magenta, red and bright blue read on black and on white
// alike: by the palettes of xterm, Linux's console, GNOME, macOS, Windows and VS Code
// the lesser of the two contrasts is 3.5, 3.4 and 3.9 in the middle. Green has 2.2 on
// xterm's white and 3.3 in the middle, and many take it for red.
const (
	bold style = 1 << iota
	dim
	italic
	underlined
	struck
	red
	blue
	magenta
)

const (
	codeStyle    = magenta
	addedStyle   = blue
	removedStyle = red
	literalStyle = magenta // a text in code
	keywordStyle = bold
)

// headingStyle tells the upper headings of an answer from the lower ones.
func headingStyle(level int) style {
	if level <= 2 {
		return bold | underlined
	}
	return bold
}

// sgr is the sequence that begins the style, "" for none.
func (st style) sgr() string {
	if st == 0 {
		return ""
	}
	var codes []string
	for i, code := range []int{1, 2, 3, 4, 9, 31, 94, 35} {
		if st&(1<<i) != 0 {
			codes = append(codes, strconv.Itoa(code))
		}
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// isDiff reports whether what stands behind the marks that open a fence says
// that it holds a diff.
func isDiff(info string) bool {
	words := strings.Fields(info)
	return len(words) > 0 && (strings.EqualFold(words[0], "diff") || strings.EqualFold(words[0], "patch"))
}

// lineStyle is the style of a line inside a fence, whose beginning tells.
func (f fence) lineStyle(line string) style {
	if !f.diff {
		return 0
	}
	for range f.indent {
		line = strings.TrimPrefix(line, " ")
	}
	return diffStyle(line)
}

// diffStyle is the style of a line of a diff.
func diffStyle(line string) style {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "): // the names of the files
		return 0
	case strings.HasPrefix(line, "+"):
		return addedStyle
	case strings.HasPrefix(line, "-"):
		return removedStyle
	}
	return 0
}
