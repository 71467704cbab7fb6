package screen

import (
	"strings"
)

// style is how a stretch of text looks: a set of the styles below. Those from dim on have
// a name in the Palette.
type style uint16

const (
	bold style = 1 << iota
	italic
	underlined
	struck
	dim
	codeStyle
	addedStyle
	removedStyle
	metaStyle
	fragStyle
	contextStyle
)

const (
	literalStyle = codeStyle // a text in code
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
func (st style) sgr(p *Palette) string {
	var codes []string
	for i, code := range []string{"1", "3", "4", "9"} {
		if st&(1<<i) != 0 {
			codes = append(codes, code)
		}
	}
	for i, name := range []styleName{inkDim, inkCode, inkAdd, inkRemove, inkMeta, inkFrag, inkContext} {
		if st&(dim<<i) == 0 {
			continue
		}
		if code := p.sgr(name); code != "" {
			codes = append(codes, code)
		}
	}
	if codes == nil {
		return ""
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
	switch diffInk(line, strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")) {
	case inkMeta:
		return metaStyle
	case inkAdd:
		return addedStyle
	case inkRemove:
		return removedStyle
	case inkFrag:
		return fragStyle
	}
	return contextStyle
}
