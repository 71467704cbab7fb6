package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/tool/names"
	"artoo/tool/spelling"
)

// withoutNull removes null from a field's types: a model leaves out fields that it does not set.
func withoutNull(schema *jsonschema.Schema) {
	if len(schema.Types) == 2 && schema.Types[0] == "null" {
		schema.Type, schema.Types = schema.Types[1], nil
	}
	if schema.Items != nil {
		withoutNull(schema.Items)
	}
	for _, property := range schema.Properties {
		withoutNull(property)
	}
}

// normalizeInput takes slips that models make and that can mean only one thing: null
// for a property that may be left out, a number or truth value in quotes, a number
// without them where a text belongs, a whole number written as 2.0, a list in quotes or
// of one element without its brackets, names that other programs give a property. All
// else stays as it is.
func normalizeInput(schema *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	input = bytes.TrimSpace(input)
	if len(input) == 0 {
		return input
	}
	switch {
	case input[0] == '{' && schema.Type == "object":
		return normalizeObject(schema, input)
	case input[0] == '{' && schema.Type == "array" && schema.Items != nil && schema.Items.Type == "object":
		return normalizeList(schema.Items, slices.Concat([]byte{'['}, input, []byte{']'}))
	case input[0] == '[' && schema.Type == "array" && schema.Items != nil:
		return normalizeList(schema.Items, input)
	case input[0] == '"' && schema.Type != "string":
		var quoted string
		if err := json.Unmarshal(input, &quoted); err != nil {
			return input
		}
		if inner := json.RawMessage(strings.TrimSpace(quoted)); isA(schema.Type, inner) ||
			schema.Type == "array" && isA("object", inner) {
			return normalizeInput(schema, inner)
		}
	case schema.Type == "integer":
		return plainInteger(input)
	case schema.Type == "string" && isA("number", input):
		return Quoted(string(input))
	}
	return input
}

// normalizeCall is normalizeInput for the whole input of a call, with the tool's own rules.
func normalizeCall(schema *jsonschema.Schema, own func(map[string]json.RawMessage) bool,
	input json.RawMessage) json.RawMessage {
	fixed := normalizeInput(schema, input)
	var fields map[string]json.RawMessage
	if own == nil || json.Unmarshal(fixed, &fields) != nil || fields == nil || !own(fields) {
		return fixed
	}
	return normalizeInput(schema, again(fixed, fields, true))
}

// isA reports whether raw is JSON of a type that is not written in quotes.
func isA(kind string, raw json.RawMessage) bool {
	if len(raw) == 0 || !json.Valid(raw) {
		return false
	}
	switch kind {
	case "array":
		return raw[0] == '['
	case "object":
		return raw[0] == '{'
	case "boolean":
		return raw[0] == 't' || raw[0] == 'f'
	case "integer", "number":
		return raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
	}
	return false
}

func normalizeObject(schema *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return input
	}
	changed := rename(schema, fields)
	for name, value := range fields {
		property, ok := schema.Properties[name]
		if !ok {
			continue
		}
		var paths []string
		if name == "path" && json.Unmarshal(value, &paths) == nil && len(paths) == 1 {
			value = Quoted(paths[0])
			fields[name], changed = value, true
		}
		if string(value) == "null" && !slices.Contains(schema.Required, name) {
			delete(fields, name)
			changed = true
		} else if fixed := normalizeInput(property, value); !bytes.Equal(fixed, value) {
			fields[name] = fixed
			changed = true
		}
	}
	return again(input, fields, changed)
}

func normalizeList(item *jsonschema.Schema, input json.RawMessage) json.RawMessage {
	var values []json.RawMessage
	if err := json.Unmarshal(input, &values); err != nil {
		return input
	}
	for i, value := range values {
		fixed := normalizeInput(item, value)
		values[i] = fixed
	}
	return again(input, values, true)
}

// again writes v, which came from input, if it was changed.
func again(input json.RawMessage, v any, changed bool) json.RawMessage {
	if !changed {
		return input
	}
	fixed, err := json.Marshal(v)
	if err != nil {
		return input
	}
	return fixed
}

// plainInteger writes 2.0 and 2e3 as Go reads integers.
func plainInteger(number json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(number, ".eE") || len(number) > 24 {
		return number
	}
	f, _, err := big.ParseFloat(string(number), 10, 128, big.ToNearestEven)
	if err != nil || !f.IsInt() {
		return number
	}
	n, exact := f.Int64()
	if exact != big.Exact {
		return number
	}
	return fmt.Append(nil, n)
}

// misfits names the faults of a decoded JSON value that is named by at.
func misfits(schema *jsonschema.Schema, at string, v any) []string {
	if is := typeOf(v); schema.Type != "" && is != schema.Type &&
		(is != "number" || schema.Type != "integer" || !wholeNumber(v)) {
		if is == "number" {
			return []string{fmt.Sprintf("%s must be %s, not %v", orInput(at), article(schema.Type), v)}
		}
		return []string{fmt.Sprintf("%s must be %s, not %s", orInput(at), article(schema.Type), article(is))}
	}
	var wrong []string
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if property, ok := schema.Properties[name]; ok {
				wrong = append(wrong, misfits(property, join(at, name), v[name])...)
			} else if schema.AdditionalProperties != nil {
				wrong = append(wrong, fmt.Sprintf("there is no property %q%s", join(at, name), perhaps(schema, v, name)))
			}
		}
		for _, name := range schema.Required {
			if _, ok := v[name]; !ok {
				wrong = append(wrong, fmt.Sprintf("%s is missing", join(at, name)))
			}
		}
	case []any:
		for i, item := range v {
			if schema.Items != nil {
				wrong = append(wrong, misfits(schema.Items, fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	}
	return wrong
}

// perhaps suggests the property that was meant: the missing one, else one that looks like it.
func perhaps(schema *jsonschema.Schema, given map[string]any, name string) string {
	const meant = " (did you mean %s?)"
	var missing []string
	for _, p := range schema.Required {
		if _, ok := given[p]; !ok {
			missing = append(missing, p)
		}
	}
	unknown := 0
	for n := range given {
		if _, ok := schema.Properties[n]; !ok {
			unknown++
		}
	}
	if len(missing) == 1 && unknown == 1 {
		return fmt.Sprintf(meant, missing[0]) // cmd is command, not cwd
	}
	folded := strings.ReplaceAll(names.Fold(name), "-", "_")
	free := slices.DeleteFunc(slices.Clone(schema.PropertyOrder), func(p string) bool { _, ok := given[p]; return ok })
	likely := func(p string) bool { return strings.HasSuffix(folded, "_"+p) || strings.HasPrefix(p, folded) } // file_path, old_str
	near := spelling.Nearest(folded, free)
	if at := slices.IndexFunc(free, likely); near == "" && at >= 0 {
		near = free[at]
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(meant, near)
}

// properties lists a tool's properties for the end of an error.
func properties(schema *jsonschema.Schema) string {
	var words []string
	for _, name := range schema.PropertyOrder {
		property := schema.Properties[name]
		if property == nil {
			continue
		}
		word := name + " (" + property.Type
		if slices.Contains(schema.Required, name) {
			word += ", required"
		}
		words = append(words, word+")")
	}
	return strings.Join(words, ", ")
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func orInput(at string) string {
	return cmp.Or(at, "the input")
}

func article(kind string) string {
	switch kind {
	case "null":
		return kind
	case "integer":
		return "a whole number"
	case "array", "object":
		return "an " + kind
	}
	return "a " + kind
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// wholeNumber reports whether a number is one that an int64 holds exactly.
func wholeNumber(v any) bool {
	f, ok := v.(float64)
	return ok && f == float64(int64(f)) && f > -1<<63 && f < 1<<63
}

// Quoted is text as JSON.
func Quoted(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil { // a string can always be written
		return json.RawMessage(`""`)
	}
	return raw
}
