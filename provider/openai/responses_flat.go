package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// flat reads an event that holds nothing but plain values under the keys that
// pieces of text come with, which nearly all events do: decoding each as any
// JSON would be the larger part of reading a long answer. It reports false, and
// leaves ev half filled, for whatever it does not know or finds hard.
func (ev *responsesEvent) flat(data string) bool {
	s := flatScanner{data: data}
	if !s.skip('{') {
		return false
	}
	for {
		key, ok := s.text()
		if !ok || !s.skip(':') {
			return false
		}
		n := 0
		switch key {
		case "type":
			ev.Type, ok = s.text()
		case "item_id":
			ev.ItemID, ok = s.text()
		case "delta":
			ev.Delta, ok = s.literal()
		case "obfuscation": // padding of a random length
			_, ok = s.text()
		case "output_index":
			n, ok = s.number()
			ev.OutputIndex = &n
		case "content_index":
			ev.ContentIndex, ok = s.number()
		case "summary_index":
			ev.SummaryIndex, ok = s.number()
		case "sequence_number":
			_, ok = s.number()
		case "logprobs":
			ok = s.skip('[') && s.skip(']')
		default:
			return false
		}
		if !ok {
			return false
		}
		if !s.skip(',') {
			return s.skip('}') && strings.TrimLeft(s.data, " \t\r\n") == ""
		}
	}
}

// flatScanner eats a JSON text from the front.
type flatScanner struct{ data string }

// skip eats c and the blanks before it.
func (s *flatScanner) skip(c byte) bool {
	rest := strings.TrimLeft(s.data, " \t\r\n")
	if rest == "" || rest[0] != c {
		return false
	}
	s.data = rest[1:]
	return true
}

// text eats a string that stands in JSON as it is.
func (s *flatScanner) text() (string, bool) {
	if !s.skip('"') {
		return "", false
	}
	for i := range len(s.data) {
		switch c := s.data[i]; {
		case c == '"':
			text := s.data[:i]
			s.data = s.data[i+1:]
			return text, utf8.ValidString(text)
		case c == '\\', c < ' ':
			return "", false
		}
	}
	return "", false
}

// literal eats a string and returns it as it is written, escapes and quotes
// included.
func (s *flatScanner) literal() (json.RawMessage, bool) {
	if !s.skip('"') {
		return nil, false
	}
	escaped := false
	for i := 0; i < len(s.data); i++ {
		switch s.data[i] {
		case '\\':
			escaped = true
			i++
		case '"':
			raw := make(json.RawMessage, 0, i+2)
			raw = append(append(append(raw, '"'), s.data[:i]...), '"')
			s.data = s.data[i+1:]
			if escaped || slices.ContainsFunc(raw[1:len(raw)-1], func(c byte) bool { return c < ' ' }) {
				return raw, json.Valid(raw)
			}
			return raw, true
		}
	}
	return nil, false
}

// number eats a number of a few digits.
func (s *flatScanner) number() (n int, ok bool) {
	rest := strings.TrimLeft(s.data, " \t\r\n")
	i := 0
	for ; i < len(rest) && i < 9 && rest[i] >= '0' && rest[i] <= '9'; i++ {
		n = 10*n + int(rest[i]-'0')
	}
	s.data = rest[i:]
	return n, i == 1 || i > 1 && rest[0] != '0'
}
