package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 32 << 20

// ErrEventTooLarge tells that one event was larger than MaxEvent.
var ErrEventTooLarge = fmt.Errorf("an event of the reply is larger than %d MiB", MaxEvent>>20)

// Events yields the data of each server-sent event; empty ones are left out. One that a clean
// end cuts off counts if it is whole. A bare JSON object is an event too, as gateways send errors.
// Nothing follows an error.
func Events(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var data []byte
		var object Extent
		bare := false // within an object without a field name
		for line, err := range lines(src) {
			if err == nil && len(data)+len(line) > MaxEvent {
				err = ErrEventTooLarge
			}
			if err != nil && err != io.EOF {
				yield("", err)
				return
			}
			value, isData := bytes.CutPrefix(line, []byte("data:"))
			bare = bare || bytes.HasPrefix(line, []byte("{"))
			switch {
			case len(line) == 0:
			case bare:
				object.Add(string(line))
				data = append(append(data, line...), '\n')
			case isData:
				data = append(append(data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
			}
			if len(line) > 0 && err == nil && !(bare && (object.depth <= 0 || object.quoted)) {
				continue
			}
			event := string(bytes.TrimSuffix(data, []byte("\n")))
			if err == io.EOF && event != "" && !json.Valid([]byte(event)) && strings.TrimSpace(event) != "[DONE]" {
				yield("", io.ErrUnexpectedEOF)
				return
			}
			if event != "" && !yield(event, nil) {
				return
			}
			data, bare, object = data[:0], false, Extent{}
		}
	}
}

// lines yields the lines of src, valid until the next. The end of src comes as io.EOF, with the
// last line if nothing ended it; any other error comes alone.
func lines(src io.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var s splitter
		in := bufio.NewScanner(src)
		in.Buffer(make([]byte, 32<<10), MaxEvent)
		in.Split(s.split)
		for in.Scan() && !s.cut {
			if !yield(bytes.TrimPrefix(in.Bytes(), []byte("\ufeff")), nil) { // a mark of byte order is no part of it
				return
			}
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, ErrEventTooLarge)
		case err != nil:
			yield(nil, err)
		default:
			yield(in.Bytes(), io.EOF)
		}
	}
}

// splitter finds the ends of lines: a CR, a LF, or both. The LF behind a CR is not waited for.
type splitter struct {
	cr   bool // the last line ended with a CR: a LF belongs to it
	seen int  // bytes of the line that hold no end
	cut  bool // nothing ended the last line
}

// split implements bufio.SplitFunc.
func (s *splitter) split(data []byte, atEOF bool) (advance int, line []byte, err error) {
	begin := 0
	if s.cr && len(data) > 0 && data[0] == '\n' {
		begin = 1
	}
	from := max(begin, s.seen)
	fresh := data[min(from, len(data)):]
	end := bytes.IndexByte(fresh, '\n')
	if end >= 0 {
		fresh = fresh[:end]
	}
	if cr := bytes.IndexByte(fresh, '\r'); cr >= 0 {
		end = cr
	}
	switch {
	case end >= 0:
		end += from
		s.cr, s.seen = data[end] == '\r', 0
		return end + 1, data[begin:end], nil
	case atEOF && len(data) > begin:
		s.cut = true
		return len(data), data[begin:], nil
	}
	s.seen = len(data)
	return 0, nil, nil
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
		for line, err := range lines(src) {
			line = bytes.TrimSpace(line)
			if err == io.EOF && (len(line) == 0 || json.Valid(line)) {
				err = nil
			}
			switch {
			case err == io.EOF:
				yield("", io.ErrUnexpectedEOF)
				return
			case err != nil:
				yield("", err)
				return
			}
			if len(line) > 0 && !yield(string(line), nil) {
				return
			}
		}
	}
}
