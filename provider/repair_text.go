package provider

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"
)

// usable reports whether an image can be sent at all.
func usable(img Image) bool { return len(img.Data) > 0 && img.MediaType != "" }

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// Identifier is s with _ for each character that is no letter of ASCII, digit, _ or
// -, cut to most bytes: what every API takes as a name or an id.
func Identifier(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), most)]
}

// ToolName is a tool's name as an API takes it. A model can call a tool by any
// name, and a history with such a call would be refused for ever.
func ToolName(name string, most int) string { return cmp.Or(Identifier(name, most), "unknown") }
