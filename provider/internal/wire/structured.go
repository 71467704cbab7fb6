package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Strictness says which schemas a server can hold a reply to.
type Strictness struct {
	Object    bool // the root is an object without alternatives
	Required  bool // every property is required
	Recursive bool // a part may contain itself
}

// Structured is a schema as such a server takes it, with the properties in their order. Bounds are
// left out, and objects get no other properties: the caller checks the reply by the whole schema. ok
// is false where too much would be lost.
func Structured(schema json.RawMessage, s Strictness) (held json.RawMessage, ok bool) {
	st := structurer{Strictness: s, root: schema, parts: mostNodes}
	return st.node(schema, []string{"#"})
}

type structurer struct {
	Strictness
	root  json.RawMessage
	parts int // so many more are looked at
}

// part has the facts of one schema that decide whether it may be sent.
type part struct {
	out        []Field
	kinds      []string
	properties []string
	required   []string
	defs       int // fields that only define
	ref, items bool
	choice     bool
	values     []any // the enum's values
}

// node rewrites a schema. on are the references on the way to it, so that it is found whether it contains itself.
func (s *structurer) node(raw json.RawMessage, on []string) (json.RawMessage, bool) {
	fields, ok := Fields(raw)
	if s.parts--; !ok || s.parts < 0 {
		return nil, false
	}
	var p part
	for _, f := range fields {
		if !s.field(&p, f, on) {
			return nil, false
		}
	}
	if p.ref {
		if len(p.out) > p.defs+1 {
			return nil, false
		}
		return object(p.out)
	}
	if p.values != nil && p.kinds == nil {
		p.kinds = kindsOf(p.values)
		if len(p.kinds) != 1 {
			return nil, false
		}
		kind, _ := json.Marshal(p.kinds[0])
		p.out = append(p.out, Field{"type", kind})
	}
	isObject := slices.Contains(p.kinds, "object")
	missing := func(name string) bool { return !slices.Contains(p.required, name) }
	unknown := func(name string) bool { return !slices.Contains(p.properties, name) }
	atRoot := len(on) == 1 && &raw[0] == &s.root[0]
	switch {
	case p.choice && (p.kinds != nil || p.properties != nil), !p.choice && p.kinds == nil,
		isObject == (len(p.properties) == 0),
		slices.Contains(p.kinds, "array") != p.items,
		slices.ContainsFunc(p.required, unknown),
		s.Required && slices.ContainsFunc(p.properties, missing),
		s.Object && atRoot && (p.choice || !slices.Equal(p.kinds, []string{"object"})):
		return nil, false
	}
	if isObject {
		p.out = append(p.out, Field{"additionalProperties", json.RawMessage("false")})
	}
	return object(p.out)
}

func object(fields []Field) (json.RawMessage, bool) {
	raw, err := ObjectOf(fields)
	return raw, err == nil
}

// field takes one keyword over. It reports false for one that must not get lost and cannot be sent.
func (s *structurer) field(p *part, f Field, on []string) bool {
	keep := func(name string, raw json.RawMessage) { p.out = append(p.out, Field{name, raw}) }
	var ok bool
	switch f.Name {
	case "title", "description":
		keep(f.Name, f.Raw)
		p.defs++
	case "type":
		var one string
		if json.Unmarshal(f.Raw, &one) == nil {
			p.kinds = []string{one}
		} else if json.Unmarshal(f.Raw, &p.kinds) != nil {
			return false
		}
		keep(f.Name, f.Raw)
	case "const", "enum":
		if f.Name == "const" {
			f.Raw = slices.Concat(json.RawMessage("["), f.Raw, json.RawMessage("]"))
		}
		if p.values != nil || json.Unmarshal(f.Raw, &p.values) != nil {
			return false
		}
		keep("enum", f.Raw)
	case "anyOf", "oneOf":
		var list []json.RawMessage
		if p.choice || json.Unmarshal(f.Raw, &list) != nil {
			return false
		}
		for i := range list {
			if list[i], ok = s.node(list[i], on); !ok {
				return false
			}
		}
		p.choice = true
		keep("anyOf", slices.Concat(json.RawMessage("["), bytes.Join(rawBytes(list), []byte(",")), json.RawMessage("]")))
	case "items":
		if f.Raw, p.items = s.node(f.Raw, on); !p.items {
			return false
		}
		keep(f.Name, f.Raw)
	case "properties", "$defs", "definitions":
		inner, isObject := Fields(f.Raw)
		if !isObject {
			return false
		}
		for i := range inner {
			if inner[i].Raw, ok = s.node(inner[i].Raw, on); !ok {
				return false
			}
			if f.Name == "properties" {
				p.properties = append(p.properties, inner[i].Name)
			}
		}
		if f.Name != "properties" {
			p.defs++
		}
		if f.Raw, ok = object(inner); !ok {
			return false
		}
		keep(f.Name, f.Raw)
	case "required":
		if json.Unmarshal(f.Raw, &p.required) != nil {
			return false
		}
		keep(f.Name, f.Raw)
	case "additionalProperties": // properties that it allows are not written; a schema for them describes the object's content
		return string(f.Raw) == "true" || string(f.Raw) == "false"
	case "$ref":
		var ref string
		if json.Unmarshal(f.Raw, &ref) != nil || !s.follows(ref, on) {
			return false
		}
		p.ref = true
		keep(f.Name, f.Raw)
	default:
		return slices.Contains(bounds(), f.Name)
	}
	return true
}

// follows reports whether a reference can be sent.
func (s *structurer) follows(ref string, on []string) bool {
	if ref != "#" && !strings.HasPrefix(ref, "#/$defs/") && !strings.HasPrefix(ref, "#/definitions/") {
		return false
	}
	if s.Recursive {
		return true
	}
	if slices.Contains(on, ref) {
		return false
	}
	target := s.root
	for _, name := range strings.Split(ref, "/")[1:] {
		fields, _ := Fields(target)
		i := slices.IndexFunc(fields, func(f Field) bool {
			return f.Name == strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		})
		if i < 0 {
			return false
		}
		target = fields[i].Raw
	}
	_, ok := s.node(target, append(slices.Clip(on), ref))
	return ok
}

// bounds are the keywords that only narrow the rest of a schema, or do not affect the value.
func bounds() []string {
	return []string{"$schema", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern", "minLength",
		"maxLength", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
		"minProperties", "maxProperties", "propertyNames", "contains", "minContains", "maxContains", "not", "dependentRequired",
		"contentEncoding", "contentMediaType"}
}

// kindsOf are the types of values, each once; an object or a list is "".
func kindsOf(values []any) (kinds []string) {
	for _, v := range values {
		kind := ""
		switch n := v.(type) {
		case string:
			kind = "string"
		case bool:
			kind = "boolean"
		case nil:
			kind = "null"
		case float64:
			if kind = "number"; n == float64(int64(n)) {
				kind = "integer"
			}
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if slices.Contains(kinds, "") {
		return nil
	}
	return kinds
}

func rawBytes(list []json.RawMessage) (all [][]byte) {
	for _, raw := range list {
		all = append(all, raw)
	}
	return all
}
