package patch

import (
	"compress/zlib"
	"errors"
	"fmt"
	"io"
)

// literal writes a content as one part of a binary patch.
func (p *patch) literal(s side) error {
	fmt.Fprintf(p.w, "literal %d\n", s.size)
	lines := &lineWriter{w: p.w}
	z := zlib.NewWriter(lines)
	err := errors.Join(s.copyTo(z), z.Close())
	lines.flush()
	fmt.Fprintln(p.w)
	return err
}

// lineWriter writes lines of git's base85, which begin with a letter for their length in bytes.
type lineWriter struct {
	w    io.Writer // Its errors are kept there.
	line [52]byte
	n    int
}

func (l *lineWriter) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := copy(l.line[l.n:], rest)
		l.n, rest = l.n+n, rest[n:]
		if l.n == len(l.line) {
			l.flush()
		}
	}
	return len(data), nil
}

func (l *lineWriter) flush() {
	if l.n == 0 {
		return
	}
	length := 'A' + rune(l.n) - 1
	if l.n > 26 {
		length = 'a' + rune(l.n) - 27
	}
	clear(l.line[l.n:])
	fmt.Fprintf(l.w, "%c%s\n", length, base85(l.line[:(l.n+3)/4*4]))
	l.n = 0
}

// base85 encodes bytes, four at a time, with git's alphabet.
func base85(data []byte) []byte {
	const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
	out := make([]byte, len(data)/4*5)
	for i := 0; i < len(data); i += 4 {
		n := uint32(data[i])<<24 | uint32(data[i+1])<<16 | uint32(data[i+2])<<8 | uint32(data[i+3])
		for k := 4; k >= 0; k-- {
			out[i/4*5+k] = alphabet[n%85]
			n /= 85
		}
	}
	return out
}
