package shell

import (
	"bytes"
	"encoding/binary"
	"io"
	"unicode/utf8"
)

// Cleaner takes terminal control out of the output of a command: escape
// sequences and control characters go, and of a line that was written over, as
// progress bars are, the last state stays. It passes whole lines on. It reads
// bytes, since sequences and characters may be cut anywhere between writes. Not
// for concurrent use.
type Cleaner struct {
	out    io.Writer // its errors are ignored
	line   []byte    // not ended yet
	state  cleanState
	wiped  bool // a carriage return came: the next character restarts the line
	length int
	last   byte   // the byte before, in a string sequence
	said   []byte // the beginning of the string sequence
	pipe   []int  // the statuses of a pipeline that bash reported, see Pipeline
}

type cleanState byte

const (
	cleanText   cleanState = iota
	cleanEscape            // after ESC
	cleanInter             // after ESC and an intermediate byte: one final byte follows
	cleanCSI               // up to a final byte
	cleanString            // OSC, DCS, SOS, PM, APC: up to BEL or ST
	cleanStringEscape
	cleanC2 // after the first byte of a C1 control in UTF-8
)

const (
	// maxCleanLine is how much of an unfinished line is held back, in bytes: it may be written over.
	maxCleanLine = 64 << 10
	// maxSequence ends a string sequence that does not end: binary data begins one by chance.
	maxSequence = 4 << 10
	// maxHeard is how much of a string sequence is looked at, in bytes.
	maxHeard = 32
)

// NewCleaner makes a Cleaner that writes to out.
func NewCleaner(out io.Writer) *Cleaner { return &Cleaner{out: out} }

// Write implements io.Writer; it cannot fail.
func (c *Cleaner) Write(p []byte) (int, error) {
	size := len(p)
	for len(p) > 0 {
		n := c.plain(p)
		if n == 0 {
			c.byte(p[0])
			n = 1
		}
		p = p[n:]
	}
	return size, nil
}

// plain takes the beginning of p that is kept as it is, all at once: nearly all output is such. Whole lines
// go on as they are, the beginning of one is held back. It returns how many bytes it took.
func (c *Cleaner) plain(p []byte) int {
	if c.state != cleanText || c.wiped {
		return 0
	}
	n := keptLength(p)
	whole := bytes.LastIndexByte(p[:n], '\n') + 1
	if whole > 0 {
		c.emit()
		_, _ = c.out.Write(p[:whole])
	}
	room := maxCleanLine - 1 - len(c.line) // put takes the byte that fills the line
	rest := p[whole:min(n, whole+room)]
	c.line = append(c.line, rest...)
	return whole + len(rest)
}

// kept reports whether a byte stays as it is wherever it stands in text.
func kept(b byte) bool { return b >= 0x20 && b != 0x7f && b != 0xc2 || b == '\n' || b == '\t' }

// Bytes of a word: keptLength looks at eight of them at a time.
const (
	ones = 0x0101010101010101
	low  = 0x7f * ones
	high = 0x80 * ones
)

// keptLength is how many bytes at the beginning of p are kept. Nearly all output is ASCII
// without control characters but line breaks, and is looked at in blocks; the rest by the
// word, and one by one where a byte is not kept.
func keptLength(p []byte) int {
	const block = 32
	n := 0
	for ; n+block <= len(p); n += block {
		w := words(p[n : n+block])
		if (unusual(w[0])|unusual(w[1])|unusual(w[2])|unusual(w[3]))&high != 0 &&
			notKept(w[0])|notKept(w[1])|notKept(w[2])|notKept(w[3]) != 0 {
			break
		}
	}
	for n < len(p) && kept(p[n]) {
		n++
	}
	return n
}

// words are the first 32 bytes of p.
func words(p []byte) [4]uint64 {
	_ = p[31]
	return [4]uint64{binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:]),
		binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])}
}

// unusual has a high bit set where a byte of a word is not ASCII that is printed, nor a line
// break. Sums show it: the first that a byte is no line break, the second that it is 0x20 and
// above, the third that it is 0x7f. A byte of 0x80 and above spoils them, and is unusual itself.
func unusual(w uint64) uint64 { return (w^ones*'\n'+low)&^(w+ones*0x60) | (w + ones) | w }

// notKept has the high bit set of each byte of a word that is not kept.
func notKept(w uint64) uint64 {
	rest := w & low
	printed := rest + ones*0x60 | w       // 0x20 and above
	noBreak := rest ^ ones*'\n' + low | w // not '\n'
	noTab := rest ^ ones*'\t' + low | w   // not '\t'
	notC2 := rest ^ ones*0x42 + low | ^w  // not 0xc2
	deleted := (rest + ones) &^ w         // 0x7f
	return (^printed&noBreak&noTab | ^notC2 | deleted) & high
}

// Open is the line that has not ended, without a character whose rest has not come.
func (c *Cleaner) Open() string { return string(c.line[:wholeRunes(c.line)]) }

// Close passes on an unfinished last line; it cannot fail.
func (c *Cleaner) Close() error {
	if c.state == cleanC2 {
		c.put(0xc2)
	}
	c.emit()
	c.state, c.wiped = cleanText, false
	return nil
}

func (c *Cleaner) emit() {
	_, _ = c.out.Write(c.line)
	c.line = c.line[:0]
}

func (c *Cleaner) byte(b byte) {
	switch c.state {
	case cleanText:
		c.text(b)
	case cleanEscape:
		c.escape(b)
	case cleanInter:
		if b < 0x20 || b > 0x2f {
			c.state = cleanText
		}
	case cleanCSI:
		switch {
		case b == 0x1b:
			c.state = cleanEscape
		case b < 0x20 || b >= 0x7f: // not part of a sequence: it was cut off
			c.state = cleanText
			c.text(b)
		case b >= 0x40:
			c.state = cleanText
		}
	case cleanString:
		c.skip(b)
	case cleanStringEscape:
		c.state = cleanText
		if b != '\\' {
			c.escape(b)
		}
	case cleanC2:
		c.state = cleanText
		if b >= 0x80 && b <= 0x9f { // a C1 control is ESC and a letter in one
			c.escape(b - 0x40)
			return
		}
		c.put(0xc2)
		c.text(b)
	}
}

// text takes a byte outside sequences.
func (c *Cleaner) text(b byte) {
	switch {
	case b == '\n':
		c.line = append(c.line, b)
		c.wiped = false
		c.emit()
	case b == '\r':
		c.wiped = true
	case b == '\b':
		c.back()
	case b == 0x1b:
		c.state = cleanEscape
	case b == 0xc2:
		c.state = cleanC2
	case b == '\t' || b >= 0x20 && b != 0x7f:
		c.put(b)
	}
}

func (c *Cleaner) put(b byte) {
	if c.wiped {
		c.line, c.wiped = c.line[:0], false
	}
	c.line = append(c.line, b)
	if len(c.line) >= maxCleanLine {
		c.emit()
	}
}

// back takes off the last character.
func (c *Cleaner) back() {
	_, size := utf8.DecodeLastRune(c.line)
	c.line = c.line[:len(c.line)-size]
}

// escape takes the byte after ESC.
func (c *Cleaner) escape(b byte) {
	switch {
	case b == '[':
		c.state = cleanCSI
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		c.state, c.length, c.last, c.said = cleanString, 0, 0, c.said[:0]
	case b >= 0x20 && b <= 0x2f:
		c.state = cleanInter
	case b == 0x1b:
	case b < 0x20 || b >= 0x7f:
		c.state = cleanText
		c.text(b)
	default:
		c.state = cleanText
	}
}

// skip takes a byte of a string sequence.
func (c *Cleaner) skip(b byte) {
	before := c.last
	c.length++
	c.last = b
	switch {
	case b == 0x1b:
		c.state = cleanStringEscape
	case b == 0x07 || b == 0x18 || b == 0x1a || b == 0x9c && before == 0xc2:
		c.state = cleanText
		c.heard()
	case b == '\n' || c.length > maxSequence:
		c.state = cleanText
		c.text(b)
	case len(c.said) < maxHeard:
		c.said = append(c.said, b)
	}
}
