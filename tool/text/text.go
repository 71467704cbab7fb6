// Package text shortens and counts for people and models: the first line of a text, a text
// of at most so many characters, a number with its noun, a size in bytes.
package text

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// FirstLine is the first line of s that is not blank, trimmed; "" for none.
func FirstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(line)
}

// Head is FirstLine with a mark behind it where there is more.
func Head(s string) string {
	first, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if more {
		first += " …"
	}
	return first
}

// Clip is s, or its first n-1 characters with "…" behind them where it has more than n (at least 1).
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	left := n - 1
	for end := range s {
		if left--; left < 0 {
			return strings.ToValidUTF8(s[:end], "\uFFFD") + "…"
		}
	}
	return s
}

// Cut is at most the first n bytes of s, ending between two characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > max(n-utf8.UTFMax, 0) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// CutLines is at most the first n bytes of s, to the end of a line in their second half.
func CutLines(s string, n int) string {
	cut := Cut(s, n)
	if end := strings.LastIndexByte(cut, '\n') + 1; len(cut) < len(s) && end > n/2 {
		return cut[:end]
	}
	return cut
}

// Ends is s, or where it is longer than n bytes two thirds of them from its beginning, one from
// its end.
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

// Count is a number with its noun, whose plural ends in s: "1 file", "1,204 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Grouped(n) + " " + noun + "s"
}

// Counted is a number as models read it, without commas, with its noun: "1 entry", "1204 entries".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
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

// Dollars is an amount of US dollars, with four digits after the point where two would hide a part of a small one.
func Dollars(usd float64) string {
	const least = 0.00005
	switch {
	case usd > 0 && usd < least:
		return "less than $0.0001"
	case usd < 1 && math.Abs(usd-math.Round(usd*100)/100) >= least:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

// CutLine shortens a line to about limit bytes and reports how many were left out.
func CutLine(line string, limit int) (kept string, cut int) {
	kept = Cut(line, limit)
	return kept, len(line) - len(kept)
}

// WriteLine writes a line of a file as models see it; cut bytes were left out of the text.
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

// Reader reads from r until ctx ends.
func Reader(ctx context.Context, r io.Reader) io.Reader { return contextReader{ctx, r} }

type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// ReadLine is the next line of r with its end; long reports one over most bytes, of which all is
// skipped. With an error, line is the text before it.
func ReadLine(r *bufio.Reader, most int) (line []byte, long bool, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		if !long {
			line = append(line, piece...)
		}
		if len(line) > most {
			line, long = nil, true
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
