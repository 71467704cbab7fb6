package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/tmaxmax/go-sse"
)

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 32 << 20

// ErrEventTooLarge tells that one event was larger than MaxEvent.
var ErrEventTooLarge = fmt.Errorf("an event of the reply is larger than %d MiB", MaxEvent>>20)

// Events yields the data of each server-sent event; empty ones are left out. One that a clean
// end cuts off counts if it is whole. Nothing follows an error.
func Events(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		f := &framer{src: bufio.NewReaderSize(src, 32<<10)}
		for ev, err := range sse.Read(f, &sse.ReadConfig{MaxEventSize: MaxEvent}) {
			switch {
			case err != nil && f.err != nil && f.err != io.EOF:
				err = f.err // it says more than go-sse, which only sees an end
			case errors.Is(err, bufio.ErrTooLong):
				err = ErrEventTooLarge
			case err == nil && f.cut && !json.Valid([]byte(ev.Data)) && strings.TrimSpace(ev.Data) != "[DONE]":
				err = io.ErrUnexpectedEOF
			}
			if err != nil {
				yield("", err)
				return
			}
			if ev.Data != "" && !yield(ev.Data, nil) {
				return
			}
		}
	}
}

// framer passes the stream on event by event: the parser looks at its whole buffer after each
// read, quadratic in a large event. It makes an event of a bare JSON object, as gateways send
// errors.
type framer struct {
	src   *bufio.Reader
	buf   []byte // holds the event
	event []byte // the part of it that is not handed on yet
	err   error
	cr    bool // the last line ended with a CR: a LF belongs to it
	cut   bool // the stream ended within the last event
}

// Read implements io.Reader.
func (f *framer) Read(p []byte) (int, error) {
	if len(f.event) == 0 && f.err == nil {
		if cap(f.buf) > 1<<20 {
			f.buf = nil // few are so long
		}
		f.buf, f.err = f.next(f.buf[:0])
		f.event = f.buf
	}
	if len(f.event) == 0 {
		return 0, f.err
	}
	n := copy(p, f.event)
	f.event = f.event[n:]
	return n, nil
}

// next reads an event into the empty one, its lines ended with a LF and a blank line behind them.
func (f *framer) next(event []byte) (_ []byte, err error) {
	var object Extent
	bare := false // within an object without a field name
	for err == nil {
		start := len(event)
		if event, err = f.line(event); err != nil && err != io.EOF {
			return nil, err
		}
		size := len(event) - start
		if size == 0 && start == 0 {
			continue
		}
		if bare = bare || size > 0 && event[start] == '{'; bare && size > 0 {
			object.Add(string(event[start:]))
			event = slices.Insert(event, start, []byte("data: ")...)
		}
		event = append(event, '\n')
		switch f.cut = err != nil; {
		case size == 0:
			return event, err
		case f.cut, bare && (object.depth <= 0 || object.quoted):
			return append(event, '\n'), err
		}
	}
	return nil, err
}

// line appends the next line without its end: a CR, a LF, or both. The LF behind a CR is not
// waited for.
func (f *framer) line(event []byte) ([]byte, error) {
	for len(event) <= MaxEvent {
		if _, err := f.src.Peek(1); err != nil {
			return event, err
		}
		have, _ := f.src.Peek(f.src.Buffered()) // never fails: they are there
		skip := 0
		if f.cr && have[0] == '\n' {
			have, skip = have[1:], 1
		}
		f.cr = false
		end := bytes.IndexAny(have, "\r\n")
		if end >= 0 {
			f.cr = have[end] == '\r'
			event = append(event, have[:end]...)
			_, err := f.src.Discard(skip + end + 1)
			return event, err
		}
		event = append(event, have...)
		if _, err := f.src.Discard(skip + len(have)); err != nil {
			return event, err
		}
	}
	return nil, ErrEventTooLarge
}

// Extent follows a JSON value piece by piece and knows when it has come to its end.
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
