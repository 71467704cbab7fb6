package provider

import (
	"bytes"
	"encoding/json"
)

// Marshal encodes v without escaping <, > and &. It is the one encoder for
// everything that is sent or stored: two encoders would give two spellings of
// the same history, and prompt caches compare bytes.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
