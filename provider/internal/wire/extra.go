package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	"artoo/provider"
)

// field is one of a JSON object.
type field struct {
	name string
	raw  json.RawMessage
}

// fields are those of an object in their order; ok is false for what is none.
func fields(object json.RawMessage) (list []field, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		f := field{}
		if f.name, ok = name.(string); err != nil || !ok || dec.Decode(&f.raw) != nil {
			return nil, false
		}
		list = append(list, f)
	}
	return list, true
}

// merged is an object with the fields of another: those of objects that both have
// are merged too, any other replaces the first one's. New fields stand first, so
// that a body still ends with the history, and one is a prefix of the next.
func merged(object, extra json.RawMessage) (json.RawMessage, error) {
	have, ok := fields(object)
	more, also := fields(extra)
	if !ok || !also {
		return extra, nil
	}
	var fresh []field
	for _, f := range more {
		i := slices.IndexFunc(have, func(h field) bool { return h.name == f.name })
		if i < 0 {
			fresh = append(fresh, f)
			continue
		}
		var err error
		if have[i].raw, err = merged(have[i].raw, f.raw); err != nil {
			return nil, err
		}
	}
	out := []byte{'{'}
	for i, f := range append(fresh, have...) {
		name, err := provider.Marshal(f.name)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), f.raw...)
	}
	return append(out, '}'), nil
}
