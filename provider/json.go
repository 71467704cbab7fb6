package provider

import (
	"bytes"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// Marshal encodes v without escaping <, > and &. It is the only encoder of what is sent or
// stored, since prompt caches compare bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// CleanJSON replaces invalid UTF-8 and lone surrogates in a JSON text, which strict parsers
// refuse and encoding/json accepts.
func CleanJSON(raw []byte) []byte {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	if !bytes.Contains(raw, []byte(`\u`)) {
		return raw
	}
	var out []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			continue
		}
		if raw[i+1] != 'u' {
			i++
			continue
		}
		r := hex4(raw, i+2)
		switch {
		case r >= 0xD800 && r < 0xDC00:
			if low := hex4(raw, i+8); i+7 < len(raw) && raw[i+6] == '\\' && raw[i+7] == 'u' && low >= 0xDC00 &&
				low < 0xE000 {
				i += 11
				continue
			}
			fallthrough
		case r >= 0xDC00 && r < 0xE000:
			if out == nil {
				out = bytes.Clone(raw)
			}
			copy(out[i:], `\ufffd`)
		}
		i += 5
	}
	if out == nil {
		return raw
	}
	return out
}

// hex4 is the number that the four hex digits at i stand for, -1 for other characters.
func hex4(raw []byte, i int) int64 {
	if i+4 > len(raw) {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[i:i+4]), 16, 32)
	if err != nil {
		return -1
	}
	return int64(n)
}

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
