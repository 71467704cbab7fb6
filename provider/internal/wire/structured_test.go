package wire

import (
	"encoding/json"
	"testing"
)

// TestASchemaIsSentAsEachServerTakesIt, or not at all: "" stands for that.
func TestASchemaIsSentAsEachServerTakesIt(t *testing.T) {
	t.Parallel()
	const (
		itself    = `{"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]`
		numbers   = `{"type":"array","items":{"type":"number"}}`
		optional  = `{"type":"object","properties":{"a":{"type":"string"}}}`
		reference = `{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"type":"string"}}}`
	)
	for _, c := range []struct {
		name         string
		s            Strictness
		schema, want string
	}{
		{"an object", Strictness{Object: true, Required: true},
			`{"$schema":"x","type":"object","description":"d","properties":{` +
				`"b":{"type":"string","minLength":1},"a":{"enum":[1,2]}},"required":["a","b"]}`,
			`{"type":"object","description":"d","properties":{"b":{"type":"string"},` +
				`"a":{"enum":[1,2],"type":"integer"}},"required":["a","b"],"additionalProperties":false}`},
		{"one value", Strictness{}, `{"const":"x"}`, `{"enum":["x"],"type":"string"}`},
		{"values of two kinds", Strictness{}, `{"enum":[1,"a"]}`, ""},
		{"a list", Strictness{}, numbers, numbers},
		{"a list of anything", Strictness{}, `{"type":"array"}`, ""},
		{"a list where an object is wanted", Strictness{Object: true}, numbers, ""},
		{"choices", Strictness{}, `{"oneOf":[{"type":"string"},{"type":"null"}]}`,
			`{"anyOf":[{"type":"string"},{"type":"null"}]}`},
		{"choices where an object is wanted", Strictness{Object: true},
			`{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""},
		{"an optional property", Strictness{}, optional,
			`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`},
		{"an optional property where none may be", Strictness{Required: true}, optional, ""},
		{"an unknown one is required", Strictness{},
			`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, ""},
		{"an object of anything", Strictness{}, `{"type":"object"}`, ""},
		{"properties of one schema", Strictness{},
			`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}`, ""},
		{"no type", Strictness{}, `{"description":"d"}`, ""},
		{"a word nobody knows", Strictness{}, `{"type":"string","novelty":1}`, ""},
		{"a reference", Strictness{}, reference, reference},
		{"a reference to nothing", Strictness{}, `{"$ref":"#/$defs/c","$defs":{"a":{"type":"string"}}}`, ""},
		{"a reference to elsewhere", Strictness{Recursive: true}, `{"$ref":"https://example.org"}`, ""},
		{"itself", Strictness{}, itself + "}", ""},
		{"itself where that may be", Strictness{Recursive: true}, itself + "}",
			itself + `,"additionalProperties":false}`},
	} {
		held, ok := Structured(json.RawMessage(c.schema), c.s)
		if ok != (c.want != "") || ok && string(held) != c.want {
			t.Errorf("%s: %s, %t; want %s", c.name, held, ok, c.want)
		}
	}
}
