package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"artoo/provider"
)

const emptySchema = `{"type":"object","properties":{}}`

// Schema is that of a tool, fit for a strict parser; one that is missing is that of
// an object without properties.
func Schema(raw json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage(emptySchema)
	}
	return provider.CleanJSON(raw)
}

// Subset rewrites a JSON Schema, with an object at the root, in the words that every server understands, also one that
// makes a grammar of it, or that refuses all other words, a schema without a type, anything beside a choice, or empty
// properties below the root. Choices of values that are not text stay only where the server takes numbers in them.
// Parts beyond these words are dropped: the call's input is checked against the whole schema later. The result depends
// only on the schema and numbers.
func Subset(schema json.RawMessage, numbers bool) json.RawMessage {
	s := subsetter{numbers: numbers, open: map[string]bool{"#": true}}
	dec := json.NewDecoder(bytes.NewReader(provider.CleanJSON(schema)))
	dec.UseNumber() // a large one in a choice stays as it is
	if dec.Decode(&s.root) != nil {
		s.root = nil
	}
	flat, choices := s.flatten(s.root)
	for _, c := range choices { // any choice's properties are better than none
		merge(flat, map[string]any{"properties": c["properties"]})
	}
	delete(flat, "enum")
	out := s.typed(flat, "object", 0)
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	raw, err := provider.Marshal(out) // keys come out sorted: the same bytes each time
	if err != nil {
		return json.RawMessage(emptySchema)
	}
	return raw
}

type subsetter struct {
	numbers bool
	root    map[string]any
	open    map[string]bool // references being followed: schemas may refer to themselves
	nodes   int
}

// How large a schema may become when its references are written out, in schemas
// and in levels; deeper ones are a string.
const (
	mostNodes = 2000
	deepest   = 48
)

// node rewrites a value that stands for a schema.
func (s *subsetter) node(value any, depth int) map[string]any {
	in, _ := value.(map[string]any)
	if s.nodes++; s.nodes > mostNodes || depth > deepest {
		in = nil
	}
	open := maps.Clone(s.open)
	defer func() { s.open = open }()
	flat, choices := s.flatten(in)
	kinds := texts(flat["type"])
	if kind, ok := flat["type"].(string); ok {
		kinds = []string{kind}
	}
	kinds = slices.DeleteFunc(kinds, func(kind string) bool { return kind == "null" })
	var list []any
	for _, c := range choices {
		list = append(list, s.node(c, depth+1))
	}
	if len(list) == 0 && len(kinds) < 2 {
		return s.typed(flat, kindOf(flat, kinds), depth)
	}
	out := described(flat)
	if len(list) == 0 {
		for _, kind := range kinds {
			list = append(list, s.typed(flat, kind, depth))
		}
	}
	out["anyOf"] = list
	return out
}

// kindOf is the type of a schema, or the likely one where it names none.
func kindOf(flat map[string]any, kinds []string) string {
	switch {
	case len(kinds) > 0:
		return kinds[0]
	case flat["enum"] == nil && flat["properties"] != nil:
		return "object"
	case flat["enum"] == nil && flat["items"] != nil:
		return "array"
	}
	return "string"
}

// flatten is a schema with all that it refers to or consists of. choices are the schemas of
// which one must fit, if there are several.
func (s *subsetter) flatten(in map[string]any) (flat map[string]any, choices []map[string]any) {
	flat = maps.Clone(in)
	if flat == nil {
		flat = map[string]any{}
	}
	add := func(part map[string]any) {
		more, inner := s.flatten(part)
		merge(flat, more)
		choices = append(choices, inner...)
	}
	if ref, ok := in["$ref"].(string); ok && !s.open[ref] {
		s.open[ref] = true
		add(s.find(ref))
	}
	if c, ok := in["const"]; ok && flat["enum"] == nil {
		flat["enum"] = []any{c}
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := in[key].([]any)
		var parts []map[string]any
		for _, v := range list {
			part, _ := v.(map[string]any)
			if part["type"] != "null" && len(part) > 0 {
				parts = append(parts, part)
			}
		}
		if key != "allOf" && len(parts) > 1 {
			choices = parts
			continue
		}
		for _, part := range parts {
			add(part)
		}
	}
	return flat, choices
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

// merge adds keywords that a schema does not have yet; properties and required ones come together.
func merge(flat, more map[string]any) {
	for key, value := range more {
		have, there := flat[key]
		mine, ok1 := have.(map[string]any)
		other, ok2 := value.(map[string]any)
		switch {
		case !there:
			flat[key] = value
		case key == "properties" && ok1 && ok2:
			mine = maps.Clone(mine)
			merge(mine, other)
			flat[key] = mine
		case key == "required":
			a, _ := have.([]any)
			b, _ := value.([]any)
			flat[key] = slices.Concat(a, b)
		}
	}
}

// typed writes a schema as one of a single type, with the words that go with that.
func (s *subsetter) typed(flat map[string]any, kind string, depth int) map[string]any {
	out := described(flat)
	all, _ := flat["enum"].([]any)
	if enum := texts(all); len(enum) > 0 && len(enum) == len(all) {
		out["type"], out["enum"] = "string", enum
		return out
	}
	out["type"] = kind
	if len(all) > 0 && s.numbers {
		out["enum"] = all
	}
	switch kind {
	case "array":
		out["items"] = s.node(flat["items"], depth+1)
	case "object":
		in, _ := flat["properties"].(map[string]any)
		properties := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(in)) { // sorted, so that the same ones are always dropped
			properties[name] = s.node(in[name], depth+1)
		}
		required := slices.DeleteFunc(texts(flat["required"]), func(name string) bool { return properties[name] == nil })
		slices.Sort(required)
		if len(properties) > 0 {
			out["properties"] = properties
		}
		if len(required) > 0 {
			out["required"] = slices.Compact(required)
		}
	}
	return out
}

// described is a schema with nothing but the description of another, if that has one.
func described(flat map[string]any) map[string]any {
	out := map[string]any{}
	if text, ok := flat["description"].(string); ok {
		out["description"] = text
	}
	return out
}

// texts are the strings of a list.
func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, v := range list {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
