package provider

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

// Scanner reads JSON several times as fast as encoding/json does, in the form that
// Marshal writes: without blanks between the tokens. What has another form, or is no
// JSON, fails it, and is left to encoding/json. Each value must be read, by one method,
// before the next field or element is. It is used by one goroutine.
type Scanner struct {
	Data   []byte // never written to
	at     int
	depth  int
	failed bool
	text   []byte // room for a string that holds escapes
}

// scanDepth bounds how deeply values may be nested.
const scanDepth = 100

// Done reports whether all was read and nothing failed.
func (s *Scanner) Done() bool { return !s.failed && s.at == len(s.Data) }

// Fail makes Done false.
func (s *Scanner) Fail() { s.failed = true }

// Object calls do for each field, which reads its value. name holds until then.
func (s *Scanner) Object(do func(name []byte)) {
	s.nested('{', '}', func() {
		name, escaped := s.quoted()
		if s.take(':'); escaped {
			s.Fail()
		}
		if !s.failed {
			do(name)
		}
	})
}

// Array calls do for each element, which reads it.
func (s *Scanner) Array(do func()) { s.nested('[', ']', do) }

func (s *Scanner) nested(open, end byte, do func()) {
	s.take(open)
	if s.depth++; s.depth > scanDepth {
		s.Fail()
	}
	if s.next() != end {
		for do(); !s.failed && s.next() == ','; do() {
			s.at++
		}
	}
	s.depth--
	s.take(end)
}

// String reads a string.
func (s *Scanner) String() string {
	raw, escaped := s.quoted()
	switch {
	case s.failed:
		return ""
	case escaped:
		raw = s.unescaped(raw)
	}
	if !utf8.Valid(raw) { // encoding/json knows what comes in its place
		s.Fail()
	}
	return string(raw)
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	for _, word := range []string{"true", "false"} {
		if s.word(word) {
			return word == "true"
		}
	}
	s.Fail()
	return false
}

// Int reads a whole number.
func (s *Scanner) Int() int {
	n, err := strconv.Atoi(string(s.number()))
	if err != nil {
		s.Fail()
	}
	return n
}

// Float reads a number.
func (s *Scanner) Float() float64 {
	n, err := strconv.ParseFloat(string(s.number()), 64)
	if err != nil {
		s.Fail()
	}
	return n
}

// Null reports whether the value is null, which it then has read.
func (s *Scanner) Null() bool { return s.next() == 'n' && s.word("null") }

// Raw reads any value and returns its bytes of Data.
func (s *Scanner) Raw() []byte {
	from := s.at
	switch c := s.next(); {
	case c == '"':
		s.quoted()
	case c == '{':
		s.Object(func([]byte) { s.Raw() })
	case c == '[':
		s.Array(func() { s.Raw() })
	case c == 't' || c == 'f':
		s.Bool()
	case c == 'n':
		if !s.Null() {
			s.Fail()
		}
	default:
		s.number()
	}
	return s.Data[from:s.at]
}

// next is the byte that comes next, 0 at the end.
func (s *Scanner) next() byte {
	if s.at < len(s.Data) {
		return s.Data[s.at]
	}
	return 0
}

func (s *Scanner) take(c byte) {
	if s.next() != c {
		s.Fail()
		return
	}
	s.at++
}

func (s *Scanner) word(w string) bool {
	if end := s.at + len(w); end <= len(s.Data) && string(s.Data[s.at:end]) == w {
		s.at = end
		return true
	}
	return false
}

// quoted reads a string and returns what stands between its quotes.
func (s *Scanner) quoted() (raw []byte, escaped bool) {
	s.take('"')
	from := s.at
	for i := from; i < len(s.Data) && !s.failed; i++ {
		for i+8 < len(s.Data) && plain(binary.LittleEndian.Uint64(s.Data[i:])) {
			i += 8
		}
		switch c := s.Data[i]; {
		case c == '"':
			s.at = i + 1
			return s.Data[from:i], escaped
		case c < ' ':
			s.Fail()
		case c == '\\':
			escaped = true
			if i++; i < len(s.Data) && s.Data[i] == 'u' {
				if hex4(s.Data, i+1) < 0 {
					s.Fail()
				}
			} else if i == len(s.Data) || escapes[s.Data[i]] == 0 {
				s.Fail()
			}
		}
	}
	s.Fail()
	return nil, false
}

// plain reports whether none of eight bytes is a quote, a backslash or a control
// character. Each line looks for one of these in all eight at once: where the byte is the
// one that is looked for, the subtraction borrows, and its highest bit is left.
func plain(x uint64) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	quote, slash := x^ones*'"', x^ones*'\\'
	found := (quote - ones) &^ quote
	found |= (slash - ones) &^ slash
	found |= (x - ones*' ') &^ x
	return found&high == 0
}

// escapes are what a letter behind a backslash stands for, \u left out.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescaped is the string of what stands between quotes, until the next one.
func (s *Scanner) unescaped(raw []byte) []byte {
	s.text = s.text[:0]
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\':
			s.text = append(s.text, raw[i])
		case raw[i+1] != 'u':
			s.text = append(s.text, escapes[raw[i+1]])
			i++
		default:
			r := rune(hex4(raw, i+2))
			if r >= 0xD800 && r < 0xE000 { // one of a pair
				s.Fail()
			}
			s.text = utf8.AppendRune(s.text, r)
			i += 5
		}
	}
	return s.text
}

// number reads a number and returns its bytes.
func (s *Scanner) number() []byte {
	from := s.at
	digits := func() {
		first := s.at
		for c := s.next(); c >= '0' && c <= '9'; c = s.next() {
			s.at++
		}
		if s.at == first {
			s.Fail()
		}
	}
	if s.next() == '-' {
		s.at++
	}
	if first := s.next(); first == '0' {
		s.at++
	} else {
		digits()
	}
	if s.next() == '.' {
		s.at++
		digits()
	}
	if c := s.next(); c == 'e' || c == 'E' {
		s.at++
		if c := s.next(); c == '+' || c == '-' {
			s.at++
		}
		digits()
	}
	return s.Data[from:s.at]
}
