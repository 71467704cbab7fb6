package openai

import (
	"encoding/json"

	"artoo/provider"
)

// plainSchema is a tool's schema with nothing in it but what servers that turn it
// into a grammar understand: llama.cpp refuses words that it does not know, and
// the type of objects in a list where their properties say as much. A schema that
// is no object stays as it is.
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
