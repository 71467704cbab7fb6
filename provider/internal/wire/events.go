package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/tmaxmax/go-sse"
)

// MaxEvent is the largest event that is read. Tool arguments and whole-message
// events come on one line, which can be megabytes long.
const MaxEvent = 32 << 20

// ErrEventTooLarge tells that one event was larger than MaxEvent.
var ErrEventTooLarge = fmt.Errorf("an event of the reply is larger than %d MiB", MaxEvent>>20)

// Events yields the data of each server-sent event, also one pending at a clean end; empty
// ones are left out. Nothing follows an error.
func Events(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		f := &framer{src: src, start: true, border: true}
		for ev, err := range sse.Read(f, &sse.ReadConfig{MaxEventSize: MaxEvent}) {
			if err != nil {
				// go-sse calls a line that a fault cut short an unexpected end;
				// the fault itself says more.
				if f.err != nil && f.err != io.EOF {
					err = f.err
				}
				if errors.Is(err, bufio.ErrTooLong) {
					err = ErrEventTooLarge
				}
				yield("", err)
				return
			}
			if ev.Data == "" {
				continue
			}
			if !yield(ev.Data, nil) {
				return
			}
		}
	}
}

// framer passes the stream on in pieces that end with an event: the parser looks at its
// whole buffer after each read, quadratic in a large event. It ends the last event at a
// clean end, and makes an event of a bare JSON object, as gateways send errors.
type framer struct {
	src    io.Reader
	buf    [32 << 10]byte
	rest   []byte // read but not handed on
	insert string // passed on before rest
	err    error
	start  bool   // at the start of a line
	border bool   // at the end of an event
	cr     bool   // the last byte was a CR: a LF belongs to it
	bare   bool   // inside a line without a field name
	open   Extent // nesting of the object in the bare lines
	more   bool   // the object goes on in the line that begins
}

func (f *framer) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		switch {
		case n > 0 && f.border && f.insert == "":
			return n, nil // an event is whole: it must not wait for the rest of the next
		case f.insert != "":
			c := copy(p[n:], f.insert)
			f.insert = f.insert[c:]
			n += c
		case len(f.rest) > 0:
			if f.border && !f.bare && (f.rest[0] == '\n' || f.rest[0] == '\r') {
				f.rest = f.rest[1:] // the parser would keep blank lines, and look at all of them again
				continue
			}
			if f.more && !(f.cr && f.rest[0] == '\n') {
				f.more = false
				// a blank line ends even an object that is open
				if f.bare = f.rest[0] != '\n' && f.rest[0] != '\r'; f.bare {
					f.insert = "data: "
				}
				continue
			}
			if f.start && !f.bare && f.rest[0] == '{' {
				f.bare, f.insert, f.open = true, "data: ", Extent{}
				continue
			}
			n += f.copyLine(p[n:])
		case n > 0 && f.err != nil:
			return n, nil
		case f.err != nil:
			return 0, f.err
		default:
			f.fill()
		}
	}
	return n, nil
}

func (f *framer) fill() {
	n, err := f.src.Read(f.buf[:])
	f.rest, f.err = f.buf[:n], err
	if err == io.EOF && (n > 0 || !f.border) {
		f.rest = append(f.rest[:n:n], "\n\n"...)
	}
}

// copyLine hands on the rest of the current line, as far as it is there and
// fits, and keeps track of where lines and events end.
func (f *framer) copyLine(p []byte) int {
	seg := f.rest[:min(len(f.rest), len(p))]
	if i := bytes.IndexAny(seg, "\r\n"); i >= 0 {
		seg = seg[:i+1]
	}
	copy(p, seg)
	f.rest = f.rest[len(seg):]
	if f.bare {
		f.open.Add(string(seg))
	}
	last := seg[len(seg)-1]
	second := f.cr && seg[0] == '\n' // the LF of a CRLF whose CR came before
	f.cr = last == '\r'
	switch {
	case second:
	case last != '\n' && last != '\r':
		f.start, f.border = false, false
	case f.start && len(seg) == 1:
		f.border = true
	default:
		f.start, f.border = true, false
		switch {
		case f.bare && f.open.depth > 0 && !f.open.quoted:
			f.more = true
		case f.bare:
			f.bare, f.border, f.insert = false, true, "\n\n" // a CR may stand before it, which takes the first
		}
	}
	return len(seg)
}

// Extent follows a JSON value piece by piece and knows when it has come to its
// end, without reading it all again for each piece.
type Extent struct {
	Begun           bool // something but blanks came
	depth           int
	quoted, escaped bool // inside a string; after a backslash
	bare            bool // it is a number or a word, whose end cannot be seen
}

// Add takes the next piece.
func (e *Extent) Add(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case e.escaped:
			e.escaped = false
		case e.quoted:
			e.escaped, e.quoted = c == '\\', c != '"'
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			continue
		case c == '"':
			e.quoted = true
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			e.depth--
		default:
			e.bare = e.bare || e.depth == 0
		}
		e.Begun = true
	}
}

// Ended reports whether the value is whole.
func (e *Extent) Ended() bool { return e.Begun && !e.bare && !e.quoted && e.depth <= 0 }

type ending struct {
	src  io.Reader
	last [2]byte // but for CRs
	over bool
}

// Read implements io.Reader.
func (e *ending) Read(p []byte) (int, error) {
	n, err := e.src.Read(p)
	for _, c := range p[max(0, n-8):n] {
		if c != '\r' {
			e.last[0], e.last[1] = e.last[1], c
		}
	}
	e.over = e.over || err == io.EOF
	return n, err
}

// within reports whether the stream ended without the blank line that ends an event.
func (e *ending) within() bool { return e.over && e.last != [2]byte{'\n', '\n'} }

// Lines yields each non-blank line of src, a stream of JSON objects. A last line without an
// end counts if it is whole. Nothing follows an error.
func Lines(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := bufio.NewReaderSize(src, 32<<10)
		var long []byte // a line that does not fit into r
		for {
			piece, err := r.ReadSlice('\n')
			if len(long)+len(piece) > MaxEvent {
				yield("", ErrEventTooLarge)
				return
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, piece...)
				continue
			}
			line := piece
			if len(long) > 0 {
				line = append(long, piece...)
				long = nil
			}
			line = bytes.Trim(line, " \t\r\n\ufeff") // a mark of byte order is no part of it
			switch {
			case err != nil && err != io.EOF: // the pending line is incomplete
				yield("", err)
				return
			case err == io.EOF && len(line) > 0 && !json.Valid(line):
				yield("", io.ErrUnexpectedEOF)
				return
			}
			if len(line) > 0 && !yield(string(line), nil) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}
