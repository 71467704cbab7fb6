package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"artoo/provider"
)

// parameters makes a tool's schema one that the Responses API takes: an object
// at the root, without alternatives there, its properties named, and every array
// with the schema of its items. One bad schema would refuse every request of the
// session. A schema that is good stays byte for byte as it is.
func parameters(schema json.RawMessage) (json.RawMessage, error) {
	raw := json.RawMessage(provider.CleanJSON(schema))
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil || root == nil {
		return nil, fmt.Errorf("the schema of a tool is no JSON object: %.80s", raw)
	}
	mended := mendRoot(root)
	if !mendSchema(root) && !mended {
		return raw, nil
	}
	return provider.Marshal(root)
}

// mendRoot gives the root the form of an object, and reports whether it had to.
func mendRoot(root map[string]any) (changed bool) {
	if root["type"] != "object" {
		root["type"] = "object"
		changed = true
	}
	properties, ok := root["properties"].(map[string]any)
	if !ok {
		properties = map[string]any{}
		root["properties"] = properties
		changed = true
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		branches, there := root[word]
		if !there {
			continue
		}
		// What the branches say of the properties is better than nothing; the
		// tool itself checks the rest.
		list, _ := branches.([]any)
		for _, b := range list {
			branch, _ := b.(map[string]any)
			inner, _ := branch["properties"].(map[string]any)
			for name, s := range inner {
				if _, have := properties[name]; !have {
					properties[name] = s
				}
			}
		}
		delete(root, word)
		changed = true
	}
	return changed
}

// mendSchema gives arrays the items they lack, at any depth, and reports whether
// there was something to give.
func mendSchema(v any) (changed bool) {
	schema, ok := v.(map[string]any)
	if !ok {
		return false
	}
	if _, there := schema["items"]; !there && isArray(schema["type"]) {
		schema["items"] = map[string]any{}
		changed = true
	}
	for _, word := range []string{"items", "additionalProperties", "not", "if", "then", "else", "contains",
		"propertyNames"} {
		changed = mendSchema(schema[word]) || changed
	}
	for _, word := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		named, _ := schema[word].(map[string]any)
		for _, s := range named {
			changed = mendSchema(s) || changed
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		list, _ := schema[word].([]any)
		for _, s := range list {
			changed = mendSchema(s) || changed
		}
	}
	return changed
}

// isArray reports whether a type is that of arrays, alone or among others.
func isArray(kind any) bool {
	if list, ok := kind.([]any); ok {
		return slices.Contains(list, any("array"))
	}
	return kind == "array"
}
