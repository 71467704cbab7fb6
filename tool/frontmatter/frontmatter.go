// Package frontmatter splits a Markdown file into the YAML at its head and the text below it.
package frontmatter

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// unquoted finds one-line values without quotes: people write a colon in a description, and
// [ISSUE] [PRIORITY] as the hint for arguments, which YAML refuses. A list or table is no such value.
var unquoted = regexp.MustCompile(`(?m)^([A-Za-z_-]+):[ \t]+([^"'\[{|>\s][^\n]*|\[[^\]\n]*\][ \t]*[^\s#][^\n]*)$`)

// Split returns the body of a Markdown file and decodes its front matter into a pointer. A byte
// order mark and CRLF are taken. A file without front matter is all body. The error names the
// line of the file; the body is valid then, too.
func Split(data []byte, into any) (body string, err error) {
	text := strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return text, nil
	}
	head, body, ok := strings.Cut("\n"+rest, "\n---")
	if line, after, _ := strings.Cut(body, "\n"); !ok || strings.TrimSpace(line) != "" {
		return text, errors.New("line 1: the front matter has no end, a line ---")
	} else {
		body = after
	}
	// The head begins with the newline that stands for line 1, so that YAML counts as the file does.
	if err = yaml.Unmarshal([]byte(head), into); err == nil {
		return body, nil
	}
	quoted := unquoted.ReplaceAllStringFunc(head, func(line string) string {
		key, value, _ := strings.Cut(line, ":")
		return key + ": '" + strings.ReplaceAll(strings.TrimSpace(value), "'", "''") + "'"
	})
	if yaml.Unmarshal([]byte(quoted), into) == nil {
		return body, nil
	}
	return body, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}
