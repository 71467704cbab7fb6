package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"artoo/provider"
)

// plainSchema is a tool's schema with only what servers that turn it into a grammar
// understand, such as llama.cpp. A schema that is not an object stays.
func plainSchema(schema json.RawMessage) json.RawMessage {
	var node map[string]any
	if json.Unmarshal(schema, &node) != nil || node == nil {
		return schema
	}
	out, err := provider.Marshal(plainNode(node)) // keys come out sorted: the same bytes each time
	if err != nil {
		return schema
	}
	return out
}

func plainNode(node map[string]any) map[string]any {
	out := map[string]any{}
	for _, key := range []string{"type", "description", "enum", "required"} {
		if v, ok := node[key]; ok {
			out[key] = v
		}
	}
	if list, ok := node["type"].([]any); ok { // several types: take the first real one
		delete(out, "type")
		for _, t := range list {
			if t != "null" {
				out["type"] = t
				break
			}
		}
	}
	if props, ok := node["properties"].(map[string]any); ok {
		kept := map[string]any{}
		for name, p := range props {
			if p, ok := p.(map[string]any); ok {
				kept[name] = plainNode(p)
			}
		}
		out["properties"] = kept
	}
	if items, ok := node["items"].(map[string]any); ok {
		plain := plainNode(items)
		if _, ok := plain["properties"]; ok {
			delete(plain, "type")
		}
		out["items"] = plain
	}
	return out
}

// parameters makes a tool's schema one that the Responses API takes: an object at the root
// without alternatives, and arrays with items. One bad schema would refuse every request. A
// good one stays byte for byte.
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
	fixed := fixRoot(root)
	if !fixSchema(root) && !fixed {
		return raw, nil
	}
	return provider.Marshal(root)
}

// fixRoot gives the root the form of an object, and reports whether it had to.
func fixRoot(root map[string]any) (changed bool) {
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
		// Properties of the branches are better than nothing; the tool checks the rest.
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

// fixSchema gives arrays the items they lack, at any depth, and reports whether
// there was something to give.
func fixSchema(v any) (changed bool) {
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
		changed = fixSchema(schema[word]) || changed
	}
	for _, word := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		named, _ := schema[word].(map[string]any)
		for _, s := range named {
			changed = fixSchema(s) || changed
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"} {
		list, _ := schema[word].([]any)
		for _, s := range list {
			changed = fixSchema(s) || changed
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
