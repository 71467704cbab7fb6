package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// document is a TOML file on its way into a Config: it knows lines, and
// collects what is wrong and what is only strange.
type document struct {
	path     string
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
	d := &document{path: path, root: map[string]any{}}
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

// where names a line of the document for an origin: the file's base name.
func (d *document) where(path ...string) string {
	return filepath.Base(d.path) + " line " + strconv.Itoa(d.index.find(path...))
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
	sort.SliceStable(d.problems, func(i, j int) bool { return d.problems[i].line < d.problems[j].line })
	p := d.problems[0]
	return wrong(kindConfig, fmt.Sprintf("%s line %d", d.path, p.line), p.why, p.hint)
}

// lines are the warnings in the order of the file, ready to be shown.
func (d *document) lines() []string {
	sort.SliceStable(d.warnings, func(i, j int) bool { return d.warnings[i].line < d.warnings[j].line })
	var lines []string
	for _, w := range d.warnings {
		lines = append(lines, fmt.Sprintf("%s line %d: %s", d.path, w.line, w.why))
	}
	return lines
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
