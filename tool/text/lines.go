package text

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CutLine shortens a line to about limit bytes, never within a character, and
// tells how many were left out.
func CutLine(line string, limit int) (kept string, cut int) {
	if len(line) <= limit {
		return line, 0
	}
	end := limit
	for end > limit-utf8.UTFMax && !utf8.RuneStart(line[end]) {
		end--
	}
	return line[:end], len(line) - end
}

// WriteLine writes a line of a file as models see it: right-aligned number,
// tab, text. cut is how many bytes were left out of the text.
func WriteLine(w io.Writer, number int, line string, cut int) {
	mark := ""
	if cut > 0 {
		mark = fmt.Sprintf(" [%s of this line left out]", Bytes(int64(cut)))
	}
	line = strings.ReplaceAll(strings.ToValidUTF8(line, "�"), "\x00", "�")
	fmt.Fprintf(w, "%6d\t%s%s\n", number, line, mark)
}

// Printable quotes a file name that would not stay on its line.
func Printable(name string) string {
	if !utf8.ValidString(name) {
		return strconv.Quote(name)
	}
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.Quote(name)
		}
	}
	return name
}

func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func IsASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// UpTo names the first n of some things, and says how many there are besides.
func UpTo(n int, names []string) string {
	more := len(names) - n
	if more <= 0 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), more)
}
