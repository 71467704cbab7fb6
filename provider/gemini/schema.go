package gemini

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"artoo/provider"
)

// subset rewrites a JSON Schema for the field "parameters", which refuses unknown keys.
// What it cannot say is dropped: the call's input is checked against the whole schema
// later. The result depends only on the schema.
func subset(schema json.RawMessage) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root map[string]any
	if len(schema) == 0 || dec.Decode(&root) != nil {
		root = nil
	}
	s := subsetter{root: root, open: map[string]bool{"#": true}}
	out := s.object(root, 0)
	asObject(out)
	raw, err := provider.Marshal(out)
	if err != nil {
		return json.RawMessage(`{"type":"object"}`) // cannot happen: it came from JSON
	}
	return raw
}

type subsetter struct {
	root  map[string]any
	open  map[string]bool // references being followed: schemas may refer to themselves
	nodes int
}

// How large a schema may become when its references are written out, in schemas
// and in levels; what is beyond allows everything.
const (
	mostNodes = 2000
	deepest   = 48
)

func (s *subsetter) object(in map[string]any, depth int) map[string]any {
	out := map[string]any{}
	if s.nodes++; s.nodes > mostNodes || depth > deepest {
		return out
	}
	if ref, ok := in["$ref"].(string); ok && !s.open[ref] {
		s.open[ref] = true
		out = s.object(s.find(ref), depth+1)
		delete(s.open, ref)
	}
	for _, key := range slices.Sorted(maps.Keys(in)) { // sorted, so that the same keys are always dropped
		value := in[key]
		switch key {
		case "title", "description", "pattern":
			if text, ok := value.(string); ok {
				out[key] = text
			}
		case "minItems", "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "minimum", "maximum":
			if n, ok := value.(json.Number); ok {
				out[key] = n
			}
		case "nullable":
			if yes, ok := value.(bool); ok {
				out[key] = yes
			}
		case "required":
			out[key] = texts(value)
		case "properties":
			out[key] = s.properties(value, depth)
		case "items":
			out[key] = s.any(value, depth)
		}
	}
	s.kind(in, out)
	s.choices(in, out, depth)
	s.complete(in, out)
	return out
}

func (s *subsetter) find(ref string) map[string]any {
	path, found := strings.CutPrefix(ref, "#")
	if !found {
		return nil
	}
	var at any = s.root
	for _, step := range strings.Split(strings.Trim(path, "/"), "/") {
		if step == "" {
			continue
		}
		m, _ := at.(map[string]any)
		at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	m, _ := at.(map[string]any)
	return m
}

// any rewrites a value that stands for a schema; true and {} allow everything.
func (s *subsetter) any(value any, depth int) map[string]any {
	m, _ := value.(map[string]any)
	return s.object(m, depth+1)
}

func (s *subsetter) properties(value any, depth int) map[string]any {
	in, _ := value.(map[string]any)
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(in)) {
		p := s.any(in[name], depth)
		if p["type"] == nil && p["anyOf"] == nil {
			p["type"] = "string" // one without a type is refused
		}
		out[name] = p
	}
	return out
}

// kind takes over the type; a list of types becomes one that may be null, or a
// choice.
func (s *subsetter) kind(in, out map[string]any) {
	switch t := in["type"].(type) {
	case string:
		if t != "null" {
			out["type"] = t
		}
	case []any:
		var kinds []string
		for _, k := range texts(t) {
			if k == "null" {
				out["nullable"] = true
			} else {
				kinds = append(kinds, k)
			}
		}
		switch len(kinds) {
		case 0:
		case 1:
			out["type"] = kinds[0]
		default:
			var list []any
			for _, k := range kinds {
				choice := map[string]any{"type": k}
				if items, ok := out["items"]; ok && k == "array" {
					choice["items"] = items
				}
				s.complete(nil, choice)
				list = append(list, choice)
			}
			delete(out, "items")
			out["anyOf"] = list
		}
	}
}

func (s *subsetter) choices(in, out map[string]any, depth int) {
	if enum := texts(in["enum"]); len(enum) > 0 {
		out["type"], out["enum"] = "string", enum
	}
	if c, ok := in["const"]; ok {
		if one := texts([]any{c}); len(one) == 1 {
			out["type"], out["enum"] = "string", one
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := in[key].([]any)
		var choices []any
		for _, v := range list {
			if m, ok := v.(map[string]any); ok && m["type"] == "null" {
				out["nullable"] = true
				continue
			}
			c := s.any(v, depth)
			if len(c) > 0 {
				choices = append(choices, c)
			}
		}
		switch len(choices) {
		case 0:
		case 1:
			only, _ := choices[0].(map[string]any)
			merge(out, only)
		default:
			out["anyOf"] = choices
		}
	}
	all, _ := in["allOf"].([]any)
	for _, v := range all {
		merge(out, s.any(v, depth))
	}
}

// merge adds what out does not say yet; properties come together.
func merge(out, more map[string]any) {
	for key, value := range more {
		have, there := out[key]
		mine, ok1 := have.(map[string]any)
		other, ok2 := value.(map[string]any)
		switch {
		case !there:
			out[key] = value
		case key == "properties" && ok1 && ok2:
			merge(mine, other)
		case key == "required":
			a, _ := have.([]string)
			b, _ := value.([]string)
			out[key] = append(slices.Clone(a), b...)
		}
	}
}

// complete supplies what the subset insists on, and says in its words what it has
// none for.
func (s *subsetter) complete(in, out map[string]any) {
	kind, _ := out["type"].(string)
	if out["items"] == nil && kind == "array" {
		out["items"] = map[string]any{"type": "string"}
	}
	if items, ok := out["items"].(map[string]any); ok && len(items) == 0 {
		items["type"] = "string"
	}
	if kind == "" && out["anyOf"] == nil {
		switch {
		case out["properties"] != nil:
			out["type"] = "object"
		case out["items"] != nil:
			out["type"] = "array"
		}
	}
	for key, limit := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		n, ok := in[key].(json.Number)
		whole, err := n.Int64()
		switch {
		case !ok || out[limit] != nil:
		case kind == "integer" && err == nil && limit == "minimum":
			out[limit] = whole + 1
		case kind == "integer" && err == nil:
			out[limit] = whole - 1
		default:
			out[limit] = n
		}
	}
	if properties, ok := out["properties"].(map[string]any); ok {
		required, _ := out["required"].([]string)
		required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return properties[name] == nil })
		slices.Sort(required)
		out["required"] = slices.Compact(required)
	}
	if required, ok := out["required"].([]string); ok && (len(required) == 0 || out["properties"] == nil) {
		delete(out, "required")
	}
	s.format(in, out, kind)
}

func (s *subsetter) format(in, out map[string]any, kind string) {
	format, _ := in["format"].(string)
	switch {
	case kind == "string" && (format == "date-time" || format == "enum"),
		kind == "integer" && (format == "int32" || format == "int64"),
		kind == "number" && (format == "float" || format == "double"):
		out["format"] = format
	}
}

// texts are the strings of a list; numbers and truth values are written out.
func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
		case json.Number:
			out = append(out, v.String())
		case bool:
			if v {
				out = append(out, "true")
			} else {
				out = append(out, "false")
			}
		}
	}
	return out
}

// tidy removes what the server refuses in combination: anything beside a choice, and what
// belongs to another type.
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
