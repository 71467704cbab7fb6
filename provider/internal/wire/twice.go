package wire

import (
	"bytes"
	"encoding/json"

	"artoo/provider"
)

// eachOnce is a JSON object in which no key stands twice: encoding/json and most
// servers take the last one, Google's parser refuses the request. It returns raw
// itself where there is none; raw is valid JSON.
func eachOnce(raw json.RawMessage) json.RawMessage {
	if _, twice := provider.DuplicateKey(raw); !twice {
		return raw
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	if clean, err := provider.Marshal(v); err == nil {
		return clean
	}
	return raw
}
