package provider

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Marshal encodes v without escaping <, > and &: prompt caches compare bytes.
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
	return escapes().ReplaceAllFunc(raw, func(escape []byte) []byte {
		if len(escape) == len(`\ud800`) {
			return []byte(`\ufffd`)
		}
		return escape
	})
}

// escapes are a whole pair of surrogates, a surrogate alone, or any other escape.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\.`)
})

// DuplicateKey finds a key that one object of a JSON text has twice, at any depth.
func DuplicateKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	return duplicateIn(json.NewDecoder(bytes.NewReader(raw)), func(key string) string { return key })
}

// AmbiguousKey is DuplicateKey for a text that is decoded into a struct: encoding/json takes "Answer" for "answer", and the
// last of the two would count. It also takes the long s for an s, and only ToUpper changes that letter.
func AmbiguousKey(raw []byte) (key string, twice bool) {
	if !json.Valid(raw) {
		return "", false
	}
	return duplicateIn(json.NewDecoder(bytes.NewReader(raw)), func(key string) string { return strings.ToLower(strings.ToUpper(key)) })
}

// duplicateIn finds a key whose form another key of its object has, too.
func duplicateIn(d *json.Decoder, form func(key string) string) (key string, twice bool) {
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
			if keys[form(name)] {
				return name, true
			}
			keys[form(name)] = true
		}
		if key, twice := duplicateIn(d, form); twice {
			return key, true
		}
	}
	_, _ = d.Token() // the end of the object or list
	return "", false
}
