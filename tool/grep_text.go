package tool

import (
	"bytes"
	"unicode/utf8"
)

// maxHitLine is how much of a line is shown, in bytes.
const maxHitLine = 500

// chomp takes the line break off.
func chomp(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}

// clip makes a line fit to be shown: long ones are cut around offset at, bytes
// that are no text are replaced.
func clip(line []byte, at int) string {
	if len(line) <= maxHitLine {
		return plainText(line)
	}
	from := 0
	if at > maxHitLine*3/4 {
		from = min(at-maxHitLine/4, len(line)-maxHitLine)
	}
	to := from + maxHitLine
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	text := plainText(line[from:to])
	if from > 0 {
		text = "… " + text
	}
	if to < len(line) {
		text += " …"
	}
	return text
}

// plainText shows control characters as ^X and broken UTF-8 as U+FFFD.
func plainText(line []byte) string {
	clean := true
	for _, c := range line {
		if c < ' ' && c != '\t' || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return string(line)
	}
	out := make([]byte, 0, len(line)+16)
	for _, c := range bytes.ToValidUTF8(line, []byte("\ufffd")) {
		switch {
		case c == '\t' || c >= ' ' && c != 0x7f:
			out = append(out, c)
		default:
			out = append(out, '^', c^0x40)
		}
	}
	return string(out)
}
