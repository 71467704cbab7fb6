package providertest

import (
	"encoding/json"
	"slices"
	"strings"
)

// strictness lists the demands on a schema of a server that decodes by it.
type strictness struct {
	object, required, recursive bool
}

// structured checks the schema that a server is to hold an answer to, as strictly as such servers do.
func (v *validator) structured(kind string, raw json.RawMessage, s strictness) {
	var root map[string]any
	if err := json.Unmarshal(raw, &root); err != nil || kind != "json_schema" {
		v.bad("the answer's schema of the type %q is not an object: %s", kind, raw)
		return
	}
	if s.object && root["type"] != "object" {
		v.bad("the root of the answer's schema is not an object: %s", raw)
	}
	v.structuredPart(root, s, !strings.Contains(string(raw), `"$ref":"#"`))
}

func (v *validator) structuredPart(part map[string]any, s strictness, flat bool) {
	if !s.recursive && !flat {
		v.bad("the answer's schema contains itself")
	}
	known := []string{"type", "title", "description", "enum", "anyOf", "items", "properties", "required", "additionalProperties", "$defs",
		"definitions", "$ref"}
	for word, value := range part {
		if !slices.Contains(known, word) {
			v.bad("the answer's schema has the word %q, which no such server knows", word)
		}
		switch value := value.(type) {
		case map[string]any:
			if word == "items" {
				v.structuredPart(value, s, flat)
				continue
			}
			for _, inner := range value {
				inner, _ := inner.(map[string]any)
				v.structuredPart(inner, s, flat)
			}
		case []any:
			for _, inner := range value {
				if inner, is := inner.(map[string]any); is && word == "anyOf" {
					v.structuredPart(inner, s, flat)
				}
			}
		}
	}
	properties, _ := part["properties"].(map[string]any)
	required, _ := part["required"].([]any)
	if part["type"] == "object" && part["additionalProperties"] != false {
		v.bad("an object of the answer's schema lets other properties in")
	}
	if s.required && len(properties) != len(required) {
		v.bad("%d of %d properties are required in strict mode", len(required), len(properties))
	}
}
