package ollama

import (
	"bytes"
	"encoding/json"
	"slices"

	"artoo/provider"
)

// parameters is a tool's schema with only what the server's fixed types can read: one bad
// tool would refuse every request. A schema that fits stays byte for byte.
func parameters(schema json.RawMessage) json.RawMessage {
	const none = `{"type":"object","properties":{}}`
	schema = provider.CleanJSON(schema)
	var s map[string]json.RawMessage
	if json.Unmarshal(schema, &s) != nil || s == nil {
		return json.RawMessage(none)
	}
	var properties map[string]json.RawMessage
	readable := json.Unmarshal(s["properties"], &properties) == nil && properties != nil
	plain := readable && string(s["type"]) == `"object"`
	for name, p := range properties {
		if fixed, ok := fix(p); !ok {
			properties[name], plain = fixed, false
		}
	}
	if raw, there := s["required"]; there && json.Unmarshal(raw, new([]string)) != nil {
		delete(s, "required")
		plain = false
	}
	if plain {
		return schema
	}
	if properties == nil {
		properties = map[string]json.RawMessage{}
	}
	raw, err := provider.Marshal(properties)
	if err != nil {
		return json.RawMessage(none)
	}
	s["type"], s["properties"] = json.RawMessage(`"object"`), raw
	if raw, err = provider.Marshal(s); err != nil {
		return json.RawMessage(none)
	}
	return raw
}

// fix is a property without what the server cannot read of it. It reports whether
// the server can read all of it; then raw is returned as it is.
func fix(raw json.RawMessage) (fixed json.RawMessage, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var p map[string]any
	if dec.Decode(&p) != nil || p == nil {
		return json.RawMessage(`{}`), false
	}
	if fixProperty(p) {
		return raw, true
	}
	fixed, err := provider.Marshal(p)
	if err != nil {
		return json.RawMessage(`{}`), false
	}
	return fixed, false
}

// fixProperty removes from a property what has another type than the server expects, at any
// depth, and reports whether there was nothing.
func fixProperty(p map[string]any) (ok bool) {
	ok = true
	inner := func(v any) any {
		m, object := v.(map[string]any)
		if !object {
			m = map[string]any{}
		}
		ok = fixProperty(m) && object && ok
		return m
	}
	for key, value := range p {
		list, isList := value.([]any)
		named, isObject := value.(map[string]any)
		_, isText := value.(string)
		fits := true
		switch key {
		case "type":
			fits = isText || isList && allTexts(list)
		case "description":
			fits = isText
		case "enum":
			fits = isList
		case "required":
			fits = isList && allTexts(list)
		case "anyOf":
			fits = isList
			for i := range list {
				list[i] = inner(list[i])
			}
		case "properties":
			fits = isObject
			for name := range named {
				named[name] = inner(named[name])
			}
		}
		if !fits {
			delete(p, key)
			ok = false
		}
	}
	return ok
}

func allTexts(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}
