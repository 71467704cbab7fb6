package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxEvent is the largest event that is read, in bytes.
const MaxEvent = 32 << 20

// ErrEventTooLarge says that one event was larger than MaxEvent.
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

// halves joins a surrogate pair that a server split over two events, in their JSON text, at
// the end and beginning of strings. The zero value is ready.
type halves struct{ high string }

// The first half at the end of a string, and the second at the begin of one, under a key under
// which servers send a text, or the text of a call's arguments, piece by piece.
var firstHalf, secondHalf = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(pieceKey + `(?:[^"\\]|\\.)*?(\\u[dD][89abAB][0-9a-fA-F]{2})"`)
}), sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(pieceKey + `(\\u[dD][c-fC-F][0-9a-fA-F]{2})`)
})

const pieceKey = `"(?:content|text|delta|thinking|reasoning|reasoning_content|reasoning_text|arguments|partial_json)"\s*:\s*"`

// join returns the event with its first half completed, and without the half at its end,
// which the next event gets.
func (h *halves) join(data string) string {
	if h.high == "" && !strings.Contains(data, `\u`) {
		return data
	}
	if at := secondHalf().FindStringSubmatchIndex(data); at != nil && h.high != "" {
		data = data[:at[2]] + h.high + data[at[2]:]
		h.high = ""
	}
	if at := firstHalf().FindStringSubmatchIndex(data); at != nil {
		h.high = data[at[2]:at[3]]
		data = data[:at[2]] + data[at[3]:]
	}
	return data
}

// withoutNaN is a JSON text with null in the place of NaN and the infinities.
func withoutNaN(data []byte) []byte {
	return textsAndNaNs().ReplaceAllFunc(data, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return []byte("null")
	})
}

var textsAndNaNs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|NaN|-?Infinity`)
})

// Repeated reads events that differ from the one before only in a piece of text without decoding
// them: most of the work in a long answer. The zero value is ready, for one goroutine.
type Repeated struct {
	head, tail string // around the text, the quotes included
	block      int
	sure       bool // a second event was decoded as expected
	misses     int  // consecutive misses
}

// maxMisses is after how many misses it gives up: some servers put a time into each event.
const maxMisses = 16

// Text is the text of an event if nothing else is new in it, and the block that Learn was given.
func (r *Repeated) Text(data string) (text string, block int, ok bool) {
	if !r.sure {
		return "", 0, false
	}
	text, ok = r.match(data)
	return text, r.block, ok
}

// Learn takes an event that brought nothing but a text for the given block.
func (r *Repeated) Learn(data, text string, block int) {
	if r.misses > maxMisses || text == "" || !verbatim(text) {
		return
	}
	if found, ok := r.match(data); ok && found == text && r.block == block {
		r.sure, r.misses = true, 0
		return
	}
	*r = Repeated{misses: r.misses + 1, block: block}
	literal := `"` + text + `"`
	if at := strings.Index(data, literal); at > 0 && strings.LastIndex(data, literal) == at {
		r.head, r.tail = data[:at+1], data[at+len(literal)-1:]
	}
}

func (r *Repeated) match(data string) (text string, ok bool) {
	if r.head == "" || len(data) <= len(r.head)+len(r.tail) || !strings.HasPrefix(data, r.head) ||
		!strings.HasSuffix(data, r.tail) {
		return "", false
	}
	text = data[len(r.head) : len(data)-len(r.tail)]
	return text, verbatim(text)
}

// verbatim reports whether a text stands in JSON as it is.
func verbatim(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' {
			return false
		}
	}
	return utf8.ValidString(s)
}
