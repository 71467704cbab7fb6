package provider

import (
	"bytes"
	"encoding/json"
)

// DuplicateKey finds a key that one object of a JSON text has twice, at any depth. twice
// is false if no object has one, and for a text that is not JSON.
func DuplicateKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	return duplicateIn(json.NewDecoder(bytes.NewReader(raw)))
}

// duplicateIn reads the next value of a valid text, up to the first key that is there twice.
func duplicateIn(d *json.Decoder) (key string, twice bool) {
	token, err := d.Token()
	open, nested := token.(json.Delim)
	if err != nil || !nested {
		return "", false
	}
	keys := map[string]bool{}
	for d.More() {
		if open == '{' {
			token, _ := d.Token()
			name, _ := token.(string)
			if keys[name] {
				return name, true
			}
			keys[name] = true
		}
		if key, twice := duplicateIn(d); twice {
			return key, true
		}
	}
	_, _ = d.Token() // the end of the object or list
	return "", false
}
