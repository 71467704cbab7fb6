package builtin

import (
	"bytes"
	"encoding/json"
	"path"
	"strings"

	"artoo/tool"
)

// quoteNumber returns a func that makes a string of a field that was given as a number.
func quoteNumber(name string) func(map[string]json.RawMessage) bool {
	return func(fields map[string]json.RawMessage) bool {
		var n json.Number
		value := fields[name]
		if len(value) == 0 || value[0] == '"' || json.Unmarshal(value, &n) != nil {
			return false
		}
		fields[name] = tool.Quoted(string(value))
		return true
	}
}

// fixWrite takes the value itself for the content of a JSON file.
func fixWrite(fields map[string]json.RawMessage) bool {
	var file string
	content := bytes.TrimSpace(fields["content"])
	if json.Unmarshal(fields["path"], &file) != nil || !strings.EqualFold(path.Ext(file), ".json") ||
		len(content) == 0 || content[0] != '{' && content[0] != '[' {
		return false
	}
	var text bytes.Buffer
	if json.Indent(&text, content, "", "  ") != nil {
		return false
	}
	quoted, err := json.Marshal(text.String() + "\n")
	if err != nil {
		return false
	}
	fields["content"] = quoted
	return true
}
