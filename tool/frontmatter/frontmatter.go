// Package frontmatter splits a Markdown file into the YAML at its head and the text below it.
package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Head has the values of a front matter by key: a string for a scalar, however it is written, and a
// []string for a list of them. The content of a Table is left out.
type Head map[string]any

// Table stands for a value that is a table.
type Table struct{}

// plain finds values without quotes that YAML may refuse: people write a colon in a description,
// [ISSUE] [PRIORITY] as the hint for arguments, and {src,lib}/*.go as a path. A list or table is no such value.
var plain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[ \t]*([^"'\[{|>\s]|\[[^\]\n]*\][ \t]*[^\s#]|\{[^}\n]*\}[^\s#])`)
})

// Split returns the body of a Markdown file and the values of its front matter that have these keys.
// A byte order mark, CRLF and bytes that are no UTF-8 are taken. A file without front matter is all
// body. The error names the line of the file; the body is valid then, too.
func Split(data []byte, keys ...string) (head Head, body string, err error) {
	text := strings.ToValidUTF8(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	first, rest, ok := strings.Cut(text, "\n")
	if !ok || strings.TrimRight(first, " \t") != "---" {
		return Head{}, text, nil
	}
	// Aliases are not followed, and nothing is merged: a small file could become a very large value.
	written, body, ok := strings.Cut("\n"+rest, "\n---")
	line, after, _ := strings.Cut(body, "\n")
	if !ok || strings.TrimSpace(line) != "" {
		return Head{}, text, errors.New("line 1: the front matter has no end, a line ---")
	}
	if head, ok := simple(written, keys); ok {
		return head, after, nil
	}
	var node yaml.Node
	if yaml.Unmarshal([]byte(written), &node) == nil {
		return values(&node, keys), after, nil
	}
	head, err = lenient(written, keys)
	return head, after, err
}

// simple reads the form of nearly all files, lines KEY: TEXT that mean the same with and without the rules of
// YAML, which take ten times as long. ok is false where they may be needed.
func simple(written string, keys []string) (head Head, ok bool) {
	head = Head{}
	for line := range strings.SplitSeq(strings.TrimLeft(written, "\n"), "\n") {
		key := keyOf(line)
		if key == "" || len(key) > 100 || key[0] < 'A' { // YAML bounds the length of keys.
			return nil, false
		}
		value, spaced := strings.CutPrefix(line[len(key):], ": ")
		value = strings.Trim(value, " ")
		if !spaced || value == "" || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) }) {
			return nil, false
		}
		switch quote := value[:1]; {
		case quote == `"` || quote == "'":
			if len(value) < 2 || strings.IndexAny(value[1:], quote+`\`) != len(value)-2 || !strings.HasSuffix(value, quote) {
				return nil, false
			}
			value = value[1 : len(value)-1]
		case strings.Contains("-?:,[]{}#&*!|>%@`~=<", quote), strings.Contains(value, ": "), strings.Contains(value, " #"),
			strings.HasSuffix(value, ":"), strings.EqualFold(value, "null"):
			return nil, false
		}
		if slices.Contains(keys, key) {
			head[key] = value
		}
	}
	return head, true
}

// values are those of a document that is a table. Of a key that is there twice, the last one counts.
func values(document *yaml.Node, keys []string) Head {
	head := Head{}
	if len(document.Content) == 0 || document.Content[0].Kind != yaml.MappingNode {
		return head
	}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i].Value, pairs[i+1]
		switch {
		case !slices.Contains(keys, key):
		case value.Kind == yaml.ScalarNode && value.Tag != "!!null":
			head[key] = value.Value
		case value.Kind == yaml.SequenceNode:
			list := []string{}
			for _, element := range value.Content {
				list = append(list, element.Value)
			}
			head[key] = list
		case value.Kind == yaml.MappingNode:
			head[key] = Table{}
		}
	}
	return head
}

// lenient reads YAML that is invalid as a whole, each key by itself: only those that are wanted have
// to be valid, or text without quotes.
func lenient(written string, keys []string) (Head, error) {
	type entry struct {
		line int
		text string
	}
	entries := map[string]entry{} // the last one of each key
	lines := strings.SplitAfter(written, "\n")
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && keyOf(lines[to]) == "" {
			to++
		}
		entries[keyOf(lines[from])] = entry{from + 1, strings.Join(lines[from:to], "")}
		from = to
	}
	wanted := slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return entries[key].line == 0 })
	slices.SortFunc(wanted, func(a, b string) int { return entries[a].line - entries[b].line })
	head := Head{}
	for _, key := range wanted {
		var node yaml.Node
		e := entries[key]
		switch value := strings.TrimPrefix(e.text, key+":"); {
		case yaml.Unmarshal([]byte(e.text), &node) == nil:
			maps.Copy(head, values(&node, keys))
		case plain().MatchString(value):
			head[key] = strings.Join(strings.Fields(value), " ")
		default:
			return head, fmt.Errorf("line %d: the value of %s is not valid YAML", e.line, key)
		}
	}
	return head, nil
}

// keyOf is the key that a line of YAML begins with, "" for none.
func keyOf(line string) string {
	key, _, ok := strings.Cut(line, ":")
	if !ok || key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		return ""
	}
	return key
}
