package providertest

import (
	"math/rand"
	"net/http"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/gemini"
	"artoo/tool/sweep"
)

// schemas makes JSON Schemas of all that may stand in one, whether it makes
// sense together or not.
type schemas struct{ *rand.Rand }

func (r schemas) any(depth int) any {
	if r.Intn(12) == 0 {
		return r.Intn(2) == 0
	}
	return r.object(depth)
}

func (r schemas) object(depth int) map[string]any {
	types := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	m := map[string]any{}
	switch r.Intn(4) {
	case 0:
	case 1:
		m["type"] = []string{types[r.Intn(7)], types[r.Intn(7)]}
	default:
		m["type"] = types[r.Intn(7)]
	}
	for range r.Intn(3) {
		for key, value := range []map[string]any{
			{"required": []string{"a", "zz"}}, {"enum": []any{"a", 1, nil, true}}, {"enum": []any{}}, {"const": "x"},
			{"const": nil}, {"const": map[string]any{"a": 1}}, {"format": "uri", "pattern": "x"},
			{"exclusiveMinimum": 0}, {"exclusiveMaximum": true}, {"$ref": "#"}, {"$ref": "#/$defs/x"},
			{"$ref": "other.json"}, {"minLength": 2, "description": "d"}, {"default": []int{1}}, {"minimum": 1.5},
			{"nullable": true}, {"maxItems": 2}, {"uniqueItems": true}, {"properties": map[string]any{}},
		}[r.Intn(19)] {
			m[key] = value
		}
	}
	if depth == 0 {
		return m
	}
	for range r.Intn(4) {
		inner := map[string]any{}
		var list []any
		for range r.Intn(4) {
			s := r.any(depth - 1)
			inner[string(rune('a'+r.Intn(6)))] = s
			list = append(list, s)
		}
		switch key := []string{"properties", "properties", "items", "items", "anyOf", "oneOf", "allOf", "prefixItems",
			"additionalProperties", "$defs", "patternProperties", "then"}[r.Intn(12)]; key {
		case "properties", "$defs", "patternProperties":
			m[key] = inner
		case "items":
			m[key] = list
			if r.Intn(3) > 0 {
				m[key] = r.any(depth - 1)
			}
		case "additionalProperties", "then":
			m[key] = r.any(depth - 1)
		default:
			if list == nil {
				list = []any{}
			}
			m[key] = list
		}
	}
	return m
}

// TestAnySchemaIsTaken: a tool of a third party's server must not make each
// request a refused one, whatever its schema says.
func TestAnySchemaIsTaken(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 40, 400) {
		r := schemas{rand.New(rand.NewSource(int64(seed)))}
		schema, err := provider.Marshal(r.object(4))
		if err != nil {
			t.Fatal(err)
		}
		req := question(provider.UserText("hi"))
		req.Tools = []provider.ToolSpec{{Name: "t", Schema: schema}}
		for _, s := range wires() {
			req.Model = s.model
			body := encoded(t, s.Wire, "x", req)
			if err := s.takes(body); err != nil {
				t.Errorf("%s: %v\n%s", s.name, err, schema)
			}
			if s.name == WireGemini {
				checkSubset(t, req)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// checkSubset asks a Gemini server that knows only the subset of schemas.
func checkSubset(t *testing.T, req provider.Request) {
	t.Helper()
	s := Serve(t, &Handler{Next: func(_ int, r Request) Reply {
		if strings.Contains(string(r.Body), "parametersJsonSchema") {
			return JSON(http.StatusBadRequest,
				`{"error":{"code":400,"message":"Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}`)
		}
		return Gemini(Text("ok"))
	}})
	defer s.Close()
	if got := Collect((&gemini.Provider{Server: provider.Server{Name: "x", BaseURL: s.URL, HTTP: s.HTTP}}).Stream(
		t.Context(), req)); got.Err != nil {
		t.Fatal(got.Err)
	}
	if err := Validate(WireGemini3, s.Requests()[1].Body); err != nil {
		t.Errorf("the subset: %v\n%s\nof %s", err, s.Requests()[1].Body, req.Tools[0].Schema)
	}
}
