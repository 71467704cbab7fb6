package provider

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// usable reports whether an image can be sent at all.
func usable(img Image) bool { return len(img.Data) > 0 && img.MediaType != "" }

func validUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(raw)
}

// mendStrings replaces what APIs refuse inside the strings of valid JSON:
// invalid UTF-8, and escapes that are half a surrogate pair (a model's reply
// cut in the middle of an emoji). It returns raw itself when there is none.
func mendStrings(raw json.RawMessage) json.RawMessage {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	changed := false
	for i := 0; i < len(raw); {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			i++
			continue
		}
		n := 2
		if raw[i+1] == 'u' {
			n = 6
			switch unit := escaped(raw[i:]); {
			case unit >= 0xD800 && unit < 0xDC00 && lowHalf(escaped(raw[i+6:])):
				n = 12
			case unit >= 0xD800 && unit < 0xE000:
				out = append(out, `\ufffd`...)
				changed = true
				i += n
				continue
			}
		}
		out = append(out, raw[i:i+n]...)
		i += n
	}
	if !changed {
		return raw
	}
	return out
}

// escaped reads the \uXXXX at the start of b, 0 when there is none.
func escaped(b []byte) uint64 {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0
	}
	unit, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return 0
	}
	return unit
}

func lowHalf(unit uint64) bool { return unit >= 0xDC00 && unit < 0xE000 }
