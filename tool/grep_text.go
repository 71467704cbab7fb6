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
	if bytes.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f }) < 0 {
		return string(line)
	}
	out := make([]byte, 0, len(line)+16)
	for _, c := range bytes.ToValidUTF8(line, []byte("\ufffd")) {
		if c != '\t' && c < ' ' || c == 0x7f {
			out = append(out, '^')
			c ^= 0x40
		}
		out = append(out, c)
	}
	return string(out)
}
