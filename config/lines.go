package config

import (
	"strconv"
	"strings"
)

// lineIndex finds the line of each table and key of a TOML document that has
// been parsed without error; the decoder tells lines for syntax errors only.
// Keys are paths joined by pathKey; elements of arrays of tables are counted
// as "[0]", "[1]". What stands inside an inline table or an array has no entry
// of its own: find gives the line of the nearest key around it.
type lineIndex struct {
	lines map[string]int
	last  map[string]int // arrays of tables: index of the newest element

	headers map[string]int // byte offset behind the header of a table
	values  map[string]int // byte offset of the value of a key
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// find returns the line of path or of the nearest key above it, from 1.
func (x *lineIndex) find(path ...string) int {
	for n := len(path); n > 0; n-- {
		if line := x.lines[pathKey(path[:n])]; line > 0 {
			return line
		}
	}
	return 1
}

// indexLines scans src, which the TOML decoder has accepted.
func indexLines(src string) *lineIndex {
	x := &lineIndex{lines: map[string]int{}, last: map[string]int{}, headers: map[string]int{}, values: map[string]int{}}
	s := &scanner{src: src, line: 1}
	if bom := "\ufeff"; strings.HasPrefix(src, bom) {
		s.at = len(bom)
	}
	var table []string
	for s.skipBlank(); s.at < len(s.src); s.skipBlank() {
		line := s.line
		if s.src[s.at] != '[' {
			path := append(append([]string(nil), table...), s.path('=')...)
			x.note(path, len(table), line)
			s.skipBlank()
			x.values[pathKey(path)] = s.at
			s.skipValue()
			continue
		}
		array := strings.HasPrefix(s.src[s.at:], "[[")
		s.at++
		if array {
			s.at++
		}
		path := s.path(']')
		if array {
			s.at++ // the second bracket
		}
		table = x.header(path, array)
		x.note(table, 0, line)
		x.headers[pathKey(table)] = s.at
	}
	return x
}

// header resolves the path of a table header: a path through an array of
// tables means its newest element.
func (x *lineIndex) header(path []string, array bool) []string {
	var table []string
	for i, part := range path {
		table = append(table, part)
		key := pathKey(table)
		n, known := x.last[key]
		if array && i == len(path)-1 {
			if known {
				n++
			}
			x.last[key], known = n, true
		}
		if known {
			table = append(table, "["+strconv.Itoa(n)+"]")
		}
	}
	return table
}

// note records the line for path and for the parts of it longer than from
// that have none yet, since a dotted key makes the tables it passes through.
func (x *lineIndex) note(path []string, from, line int) {
	for n := from + 1; n <= len(path); n++ {
		if key := pathKey(path[:n]); x.lines[key] == 0 {
			x.lines[key] = line
		}
	}
}

// scanner walks over TOML source that is known to be well formed.
type scanner struct {
	src  string
	at   int
	line int
}

// skipBlank moves over blanks, line ends and comments.
func (s *scanner) skipBlank() {
	for s.at < len(s.src) {
		switch s.src[s.at] {
		case '\n':
			s.line++
		case ' ', '\t', '\r':
		case '#':
			s.toLineEnd()
			continue
		default:
			return
		}
		s.at++
	}
}

func (s *scanner) toLineEnd() {
	for s.at < len(s.src) && s.src[s.at] != '\n' {
		s.at++
	}
}

// path reads a dotted key up to end, which it moves past.
func (s *scanner) path(end byte) []string {
	var path []string
	var bare strings.Builder
	flush := func() {
		if part := strings.TrimSpace(bare.String()); part != "" {
			path = append(path, part)
		}
		bare.Reset()
	}
	for s.at < len(s.src) {
		switch c := s.src[s.at]; c {
		case end:
			s.at++
			flush()
			return path
		case '"', '\'':
			path = append(path, unquote(s.quoted()))
			continue
		case '.':
			flush()
		default:
			bare.WriteByte(c)
		}
		s.at++
	}
	return path
}

// unquote undoes the quotes of a key. An escape that Go does not share with
// TOML leaves the text as it is: the key then has no line of its own.
func unquote(text string) string {
	if strings.HasPrefix(text, "'") {
		return strings.Trim(text, "'")
	}
	if plain, err := strconv.Unquote(text); err == nil {
		return plain
	}
	return text
}

// quoted moves past a string of any of the four forms and returns its source.
func (s *scanner) quoted() string {
	start, quote := s.at, s.src[s.at:s.at+1]
	end := quote
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.src[s.at:], triple) {
		end = triple
	}
	s.at += len(end)
	for s.at < len(s.src) {
		switch {
		case s.src[s.at] == '\\' && quote == `"`:
			s.at++
			if s.at < len(s.src) && s.src[s.at] == '\n' {
				s.line++
			}
		case s.src[s.at] == '\n':
			s.line++
		case strings.HasPrefix(s.src[s.at:], end):
			s.at += len(end)
			// A long string may end in one or two quotes of its own.
			for n := 0; len(end) == 3 && n < 2 && strings.HasPrefix(s.src[s.at:], quote); n++ {
				s.at++
			}
			return s.src[start:s.at]
		}
		s.at++
	}
	s.at = len(s.src)
	return s.src[start:]
}

// skipValue moves past a value to the end of its line.
func (s *scanner) skipValue() {
	for depth := 0; s.at < len(s.src); {
		switch s.src[s.at] {
		case '"', '\'':
			s.quoted()
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '#':
			s.toLineEnd()
			continue
		case '\n':
			if depth == 0 {
				return
			}
			s.line++
		}
		s.at++
	}
}
