// Package text shortens and counts for people and models: the first line of a text, a text
// of at most so many characters, a number with its noun, a size in bytes.
package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// FirstLine is the first line of s that holds more than white space, without white space
// around it; "" when there is no such line.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// Clip is s where it has at most n characters (code points), and else its first n-1 with "…"
// behind them. n must be at least 1.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}

// Cut is at most the first n bytes of s, ending between two characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// CutLines is at most the first n bytes of s, to the end of a line where one ends in the
// second half of them.
func CutLines(s string, n int) string {
	cut := Cut(s, n)
	if end := strings.LastIndexByte(cut, '\n') + 1; len(cut) < len(s) && end > n/2 {
		return cut[:end]
	}
	return cut
}

// Ends is s, or where it is longer than n bytes about two thirds of them from its beginning
// and one from its end.
func Ends(s string, n int) string {
	if len(s) <= n {
		return s
	}
	tail := len(s) - n/3
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return Cut(s, n*2/3) + "\n(…)\n" + s[tail:]
}

// Count is a number with its noun, such as "1 file" or "1,204 files". The plural of the noun
// must end in s.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Grouped writes n in decimal, with commas between thousands.
func Grouped(n int) string {
	if n < 0 {
		return "-" + Grouped(-n)
	}
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Bytes is a size for reading, such as "1 byte", "812 bytes" or "4.1 KB"; 1 KB is 1,024 bytes.
func Bytes(n int64) string {
	size, unit := float64(n), ""
	for _, unit = range []string{"KB", "MB", "GB"} {
		if size /= 1 << 10; size < 1<<10 {
			break
		}
	}
	if n < 1<<10 {
		return Count(int(n), "byte")
	}
	return fmt.Sprintf("%.1f %s", size, unit)
}
