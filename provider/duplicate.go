package provider

import "encoding/json"

// DuplicateKey finds a key that one object of a JSON text has twice, at any
// depth. twice is false where there is none, and for a text that is no JSON.
func DuplicateKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	var open []map[string]bool // the keys of each object that is open; nil for a list
	name := false              // the next string is a key
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{':
			open, name = append(open, map[string]bool{}), true
		case '[':
			open, name = append(open, nil), false
		case '}', ']':
			open = open[:len(open)-1]
		case ',':
			name = len(open) > 0 && open[len(open)-1] != nil
		case '"':
			end := stringEnd(raw, i)
			if name {
				if json.Unmarshal(raw[i:end], &key) != nil {
					return "", false
				}
				keys := open[len(open)-1]
				if keys[key] {
					return key, true
				}
				keys[key], name = true, false
			}
			i = end - 1
		}
	}
	return "", false
}

// stringEnd is the index behind the string that begins at i of a valid JSON text.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}
