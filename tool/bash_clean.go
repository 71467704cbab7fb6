package tool

import (
	"bytes"
	"io"
)

// cleaner takes terminal control out of a command's output: escape sequences
// and control characters go, and of a line that was written over, as progress
// bars are, the last state stays. It reads bytes, since sequences and
// characters may be cut anywhere.
type cleaner struct {
	out    io.Writer // never fails
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

func (c *cleaner) write(p []byte) {
	for len(p) > 0 {
		n := c.plain(p)
		if n == 0 {
			c.byte(p[0])
			n = 1
		}
		p = p[n:]
	}
}

// plain takes what p begins with that only is kept, all at once: nearly all output
// is such. Whole lines go on as they are, the beginning of one is held back. It
// returns how many bytes it took.
func (c *cleaner) plain(p []byte) int {
	if c.state != cleanText || c.wiped {
		return 0
	}
	n := 0
	for n < len(p) && (p[n] >= 0x20 && p[n] != 0x7f && p[n] != 0xc2 || p[n] == '\n' || p[n] == '\t') {
		n++
	}
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

// flush ends what was written without a line break.
func (c *cleaner) flush() {
	if c.state == cleanC2 {
		c.put(0xc2)
	}
	c.emit()
	c.state, c.wiped = cleanText, false
}

func (c *cleaner) emit() {
	// The writer is a spool, which takes everything.
	_, _ = c.out.Write(c.line)
	c.line = c.line[:0]
}

func (c *cleaner) byte(b byte) {
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
		c.c1(b)
	}
}

// text takes a byte outside of sequences.
func (c *cleaner) text(b byte) {
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

func (c *cleaner) put(b byte) {
	if c.wiped {
		c.line, c.wiped = c.line[:0], false
	}
	c.line = append(c.line, b)
	if len(c.line) >= maxCleanLine {
		c.emit()
	}
}

// back takes off the last character.
func (c *cleaner) back() {
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
func (c *cleaner) escape(b byte) {
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

// c1 takes the second byte of a character that may be a C1 control.
func (c *cleaner) c1(b byte) {
	switch {
	case b == 0x9b:
		c.state = cleanCSI
	case b == 0x90 || b == 0x98 || b >= 0x9d && b <= 0x9f:
		c.state, c.length, c.last = cleanString, 0, 0
	case b >= 0x80 && b <= 0x9f:
	default:
		c.put(0xc2)
		c.text(b)
	}
}

// skip takes a byte of a string sequence.
func (c *cleaner) skip(b byte) {
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
