package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is a TOML file with its lines, and the errors and warnings about it.
type document struct {
	path string
	home string // the directory that ~ stands for in it
	// rank is how much the file weighs. Origins name the whole path of the system's.
	rank rank
	// profile is the NAME of the table [profile.NAME] of the user's file that this is, "" for a whole file.
	profile  string
	root     map[string]any
	index    *lineIndex
	problems []problem
	warnings []problem
}

// problem is something to say about a line.
type problem struct {
	line      int
	why, hint string
}

// parseDocument decodes data; path is for messages only.
func parseDocument(path string, data []byte) (*document, error) {
	d := &document{path: path, rank: fromFile, root: map[string]any{}}
	if err := decode(string(data), &d.root); err != nil {
		e := unreadable(path, err)
		e.Hint = "fix the line, or choose another file with --config"
		return nil, e
	}
	d.index = indexLines(string(data))
	return d, nil
}

func decode(text string, into any) error {
	return toml.Unmarshal([]byte(strings.TrimPrefix(text, byteOrderMark)), into)
}

// unreadable is an error of decode. It shows nothing of the text, which may hold keys.
func unreadable(path string, err error) *Error {
	e := because(kindConfig, path, strings.TrimPrefix(err.Error(), "toml: "), err, "")
	if at, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := at.Position()
		e.Where = fmt.Sprintf("%s line %d", path, line)
	}
	return e
}

// where names the line of a path for an origin.
func (d *document) where(path ...string) string { return d.at(d.index.find(path...)) }

// at names a line for an origin: by the file's base name, for the system's by its path, with its profile.
func (d *document) at(line int) string {
	name := filepath.Base(d.path)
	if d.rank == fromSystem {
		name = d.path
	}
	name += " line " + strconv.Itoa(line)
	if d.profile != "" {
		name += " [profile." + d.profile + "]"
	}
	return name
}

// ofProfile is the table of a profile as a file of its own.
func (d *document) ofProfile(name string, root map[string]any) *document {
	index := *d.index
	index.under = []string{"profile", name}
	return &document{path: d.path, home: d.home, rank: fromProfile, profile: name, root: root, index: &index}
}

// wrong notes an error at path.
func (d *document) wrong(path []string, why, hint string) {
	d.problems = append(d.problems, problem{d.index.find(path...), why, hint})
}

// warn notes something that is only strange.
func (d *document) warn(path []string, why string) {
	d.warnings = append(d.warnings, problem{line: d.index.find(path...), why: why})
}

// err is the problem that stands first in the file, or nil.
func (d *document) err() error {
	if len(d.problems) == 0 {
		return nil
	}
	p := inOrder(d.problems)[0]
	return wrong(kindConfig, fmt.Sprintf("%s line %d", d.path, p.line), p.why, p.hint)
}

// lines are the warnings in the order of the file, ready to be shown.
func (d *document) lines() (lines []string) {
	for _, w := range inOrder(d.warnings) {
		lines = append(lines, fmt.Sprintf("%s line %d: %s", d.path, w.line, w.why))
	}
	return lines
}

func inOrder(list []problem) []problem {
	return slices.SortedStableFunc(slices.Values(list), func(a, b problem) int { return a.line - b.line })
}

// typeName names the TOML type of a decoded value, for messages.
func typeName(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case []any:
		if _, ok := tables(v); ok {
			return "an array of tables"
		}
		return "an array"
	case map[string]any:
		return "a table"
	}
	return "a date or time"
}

// tables is v as tables, if it is an array of nothing else and not empty.
func tables(v any) (list []map[string]any, ok bool) {
	array, _ := v.([]any)
	for _, element := range array {
		m, isTable := element.(map[string]any)
		if !isTable {
			return nil, false
		}
		list = append(list, m)
	}
	return list, list != nil
}

// lineIndex finds the place of each table and key of a decoded TOML document. Keys are paths joined by
// pathKey, elements of arrays of tables count as "[0]", "[1]". Inside inline tables and arrays find
// gives the line of the nearest key around.
type lineIndex struct {
	src string
	// under is where the paths that are asked for begin.
	under []string
	at    map[string]int // byte offset of a table or key
	last  map[string]int // arrays of tables: index of the newest element

	headers  map[string]int   // byte offset behind the header of a table
	values   map[string]int   // byte offset of the value of a key
	elements map[string][]int // byte offsets of the elements of its array
}

func pathKey(path []string) string { return strings.Join(path, "\x00") }

// find returns the line of path or of the nearest key above it, from 1.
func (x *lineIndex) find(path ...string) int {
	path = slices.Concat(x.under, path)
	for n := len(path); n > 0; n-- {
		if at, ok := x.at[pathKey(path[:n])]; ok {
			return x.line(at)
		}
	}
	return 1
}

func (x *lineIndex) line(at int) int { return 1 + strings.Count(x.src[:at], "\n") }

// byteOrderMark may stand before the first key.
const byteOrderMark = "\ufeff"

// indexLines looks through src, which the TOML decoder has accepted.
func indexLines(src string) *lineIndex {
	x := &lineIndex{
		src: src, at: map[string]int{}, last: map[string]int{},
		headers: map[string]int{}, values: map[string]int{}, elements: map[string][]int{},
	}
	plain := strings.TrimPrefix(src, byteOrderMark)
	before := len(src) - len(plain)
	var parser unstable.Parser
	parser.Reset([]byte(plain))
	var table []string
	for parser.NextExpression() {
		e := parser.Expression()
		var path []string
		start, end := -1, 0
		for part := e.Key(); part.Next(); {
			k := part.Node()
			if path = append(path, string(k.Data)); start < 0 {
				start = before + int(k.Raw.Offset)
			}
			end = before + int(k.Raw.Offset+k.Raw.Length)
		}
		if e.Kind != unstable.KeyValue {
			array := e.Kind == unstable.ArrayTable
			table = x.header(path, array)
			x.note(table, 0, start)
			if end += strings.IndexByte(src[end:], ']') + 1; array {
				end++
			}
			x.headers[pathKey(table)] = end
			continue
		}
		path = slices.Concat(table, path)
		x.note(path, len(table), start)
		value := strings.TrimLeft(src[end+strings.IndexByte(src[end:], '=')+1:], " \t")
		x.values[pathKey(path)] = len(src) - len(value)
		for element := e.Value().Children(); e.Value().Kind == unstable.Array && element.Next(); {
			x.elements[pathKey(path)] = append(x.elements[pathKey(path)], before+int(element.Node().Raw.Offset))
		}
	}
	return x
}

// header resolves a table header: a path through an array of tables means its newest element.
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

// note records the place of a path, and of parts longer than from without one: a dotted key makes
// tables.
func (x *lineIndex) note(path []string, from, at int) {
	for n := from + 1; n <= len(path); n++ {
		key := pathKey(path[:n])
		if _, there := x.at[key]; !there {
			x.at[key] = at
		}
	}
}
