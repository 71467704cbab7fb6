package gemini

// tidy takes out of a schema of the subset what the server refuses beside other
// things though it knows each of them: a choice stands alone, and what belongs to
// another type than the schema's does not stand at all.
func tidy(s map[string]any) {
	choices, _ := s["anyOf"].([]any)
	if len(choices) > 0 {
		for key := range s {
			switch key {
			case "anyOf", "title", "description", "nullable":
			default:
				delete(s, key)
			}
		}
		for _, c := range choices {
			if choice, ok := c.(map[string]any); ok {
				tidy(choice)
			}
		}
		return
	}
	kind, _ := s["type"].(string)
	if kind == "" {
		kind = "string" // one without a type is refused
		s["type"] = kind
	}
	if kind != "object" {
		drop(s, "properties", "required", "minProperties", "maxProperties")
	}
	if kind != "array" {
		drop(s, "items", "minItems", "maxItems")
	}
	if kind != "string" {
		drop(s, "enum", "minLength", "maxLength", "pattern")
	}
	if kind != "number" && kind != "integer" {
		drop(s, "minimum", "maximum")
	}
	properties, _ := s["properties"].(map[string]any)
	if len(properties) == 0 {
		drop(s, "properties", "required") // an object type must not have an empty list
	}
	for _, p := range properties {
		if property, ok := p.(map[string]any); ok {
			tidy(property)
		}
	}
	if items, ok := s["items"].(map[string]any); ok {
		tidy(items)
	}
}

func drop(s map[string]any, keys ...string) {
	for _, key := range keys {
		delete(s, key)
	}
}

// asObject makes the root of a tool's parameters an object without choices: what
// those say of the properties is better than nothing.
func asObject(root map[string]any) {
	choices, _ := root["anyOf"].([]any)
	drop(root, "anyOf", "nullable")
	root["type"] = "object"
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		if properties, ok := choice["properties"].(map[string]any); ok {
			merge(root, map[string]any{"properties": properties})
		}
	}
	tidy(root)
}
