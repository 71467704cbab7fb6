package screen

import "strings"

// The styles of a reply besides emphasis, which is glamour's. Of the sixteen
// colours magenta has the most contrast on black and on white alike; red and
// green are those of a change that is asked about.
const (
	sgrDim     = "\x1b[2m"
	sgrCode    = "\x1b[35m"
	sgrAdded   = "\x1b[32m"
	sgrRemoved = "\x1b[31m"
	sgrText    = sgrAdded // a literal text in code
	sgrKeyword = "\x1b[1m"
)

// styled is the sequence, "" where there is no colour.
func (m *Markdown) styled(sgr string) string {
	if !m.opt.Color || m.opt.Spoken {
		return ""
	}
	return sgr
}

// isDiff reports whether what stands behind the marks that open a fence says
// that it holds a diff.
func isDiff(info string) bool {
	words := strings.Fields(info)
	return len(words) > 0 && (strings.EqualFold(words[0], "diff") || strings.EqualFold(words[0], "patch"))
}

// lineStyle is the style of a line inside a fence, whose beginning tells.
func (m *Markdown) lineStyle(line string) string {
	if !m.fence.diff {
		return ""
	}
	for range m.fence.indent {
		line = strings.TrimPrefix(line, " ")
	}
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "): // the names of the files
		return ""
	case strings.HasPrefix(line, "+"):
		return m.styled(sgrAdded)
	case strings.HasPrefix(line, "-"):
		return m.styled(sgrRemoved)
	}
	return ""
}
