package shell

import (
	"bytes"
	"encoding/binary"
	"io"
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
	wiped  bool // a carriage return came: the next character begins the line anew
	length int  // of the string sequence being skipped
	last   byte // the byte before, in a string sequence
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
	// maxCleanLine is how much of an unfinished line is held back for being
	// written over, in bytes.
	maxCleanLine = 64 << 10
	// maxSequence ends a string sequence that does not end by itself: whoever
	// prints binary data begins one by chance, and the rest would be lost.
	maxSequence = 4 << 10
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

// plain takes what p begins with that only is kept, all at once: nearly all output
// is such. Whole lines go on as they are, the beginning of one is held back. It
// returns how many bytes it took.
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

// keptLength is how many bytes at the beginning of p are kept. It looks at eight of them
// at a time, and one by one only where a control character that is no line break, or 0xc2,
// is among them: the sums set the high bit of each byte for which it is so.
func keptLength(p []byte) int {
	const ones, low, high = 0x0101010101010101, 0x7f7f7f7f7f7f7f7f, 0x8080808080808080
	n := 0
	for ; n+8 <= len(p); n += 8 {
		w := binary.LittleEndian.Uint64(p[n:])
		rest, line, c2 := w&low, w^ones*'\n', w^ones*0xc2
		printed := rest + ones*0x60 | w  // 0x20 and above
		noBreak := line&low + low | line // not '\n'
		notC2 := c2&low + low | c2       // not 0xc2
		deleted := (rest + ones) &^ w    // 0x7f
		if (^printed&noBreak|^notC2|deleted)&high == 0 {
			continue
		}
		for i, b := range p[n : n+8] {
			if !kept(b) {
				return n + i
			}
		}
	}
	for n < len(p) && kept(p[n]) {
		n++
	}
	return n
}

// Open is the line that has not ended, as it stands now, without a character
// whose rest has not come.
func (c *Cleaner) Open() string { return string(c.line[:wholeRunes(c.line)]) }

// Close passes on what was written without a line break; it cannot fail.
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

// text takes a byte outside of sequences.
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
	n := len(c.line)
	for n > 0 {
		n--
		if c.line[n]&0xc0 != 0x80 {
			break
		}
	}
	c.line = c.line[:n]
}

// escape takes the byte after ESC.
func (c *Cleaner) escape(b byte) {
	switch {
	case b == '[':
		c.state = cleanCSI
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		c.state, c.length, c.last = cleanString, 0, 0
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
	case b == '\n' || c.length > maxSequence:
		c.state = cleanText
		c.text(b)
	}
}
