package providertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type geminiBody struct {
	System *geminiContent `json:"systemInstruction"`
	Tools  []struct {
		Declarations []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Generation *struct {
		MaxOutputTokens *int     `json:"maxOutputTokens"`
		Temperature     *float64 `json:"temperature"`
		Thinking        *struct {
			IncludeThoughts bool   `json:"includeThoughts"`
			Budget          *int   `json:"thinkingBudget"`
			Level           string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
		MIMEType   string          `json:"responseMimeType"`
		JSONSchema json.RawMessage `json:"responseJsonSchema"`
	} `json:"generationConfig"`
	Contents []geminiContent `json:"contents"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string     `json:"text"`
	Thought   bool        `json:"thought"`
	Signature string      `json:"thoughtSignature"`
	Inline    *geminiBlob `json:"inlineData"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Response *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
		Parts    []geminiPart    `json:"parts"`
	} `json:"functionResponse"`
}

type geminiBlob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

// gemini checks a request; signed says that the first call of each step must
// carry a signature.
func (v *validator) gemini(body []byte, signed bool) {
	var b geminiBody
	if err := strictly(body, &b); err != nil {
		v.bad("the body is no generateContent request: %w", err)
		return
	}
	v.geminiHead(b)
	var open []string // calls without a result, as id and name
	for i, c := range b.Contents {
		open = v.geminiContent(fmt.Sprintf("content %d (%s)", i, c.Role), c, open)
		first := slices.IndexFunc(c.Parts, func(p geminiPart) bool { return p.Call != nil })
		if signed && first >= 0 && c.Parts[first].Signature == "" {
			v.bad("content %d: function call is missing a thought_signature", i)
		}
		if i > 0 && c.Role == "model" && b.Contents[i-1].Role == "model" {
			v.bad("content %d: the model speaks twice in a row", i)
		}
	}
	v.ended(open)
	if n := len(b.Contents); n == 0 || b.Contents[0].Role != "user" || b.Contents[n-1].Role != "user" {
		v.bad("the history neither begins nor ends with the user")
	}
}

func (v *validator) geminiHead(b geminiBody) {
	if s := b.System; s != nil {
		for _, p := range s.Parts {
			if p.Text == nil {
				v.bad("a system part without text")
				continue
			}
			v.text("system", *p.Text)
		}
	}
	if g := b.Generation; g != nil && g.Thinking != nil && g.Thinking.Budget != nil && g.Thinking.Level != "" {
		v.bad("a thinking budget and a level")
	}
	if g := b.Generation; g != nil && (g.JSONSchema != nil || g.MIMEType != "") {
		kind := ""
		if g.MIMEType == "application/json" {
			kind = "json_schema"
		}
		v.structured(kind, g.JSONSchema, strictness{})
	}
	for _, t := range b.Tools {
		if len(t.Declarations) == 0 {
			v.bad("a tools entry without declarations")
		}
		for _, d := range t.Declarations {
			v.tool(d.Name, 128)
			v.geminiName("tool", d.Name)
			switch {
			case d.JSONSchema != nil && d.Parameters != nil:
				v.bad("the tool %q has two schemas", d.Name)
			case d.Parameters != nil:
				v.geminiSchema("the schema of "+d.Name, d.Parameters)
			default:
				v.object("the schema of "+d.Name, d.JSONSchema)
			}
		}
	}
}

func (v *validator) geminiName(what, name string) {
	v.name(what, name, 128)
	if name != "" && strings.ContainsRune("-0123456789", rune(name[0])) {
		v.bad("%s: the name %q begins with no letter", what, name)
	}
}

// geminiSchema knows the subset of JSON Schema that the field parameters takes.
func (v *validator) geminiSchema(what string, raw json.RawMessage) {
	var s struct {
		Type             string                     `json:"type"`
		Format           string                     `json:"format"`
		Title            string                     `json:"title"`
		Description      string                     `json:"description"`
		Nullable         bool                       `json:"nullable"`
		Enum             []string                   `json:"enum"`
		Items            json.RawMessage            `json:"items"`
		MinItems         *int64                     `json:"minItems"`
		MaxItems         *int64                     `json:"maxItems"`
		Properties       map[string]json.RawMessage `json:"properties"`
		Required         []string                   `json:"required"`
		MinProperties    *int64                     `json:"minProperties"`
		MaxProperties    *int64                     `json:"maxProperties"`
		Minimum          *float64                   `json:"minimum"`
		Maximum          *float64                   `json:"maximum"`
		MinLength        *int64                     `json:"minLength"`
		MaxLength        *int64                     `json:"maxLength"`
		Pattern          string                     `json:"pattern"`
		Example          json.RawMessage            `json:"example"`
		AnyOf            []json.RawMessage          `json:"anyOf"`
		PropertyOrdering []string                   `json:"propertyOrdering"`
		Default          json.RawMessage            `json:"default"`
	}
	if err := strictly(raw, &s); err != nil {
		v.bad("%s: %w", what, err)
		return
	}
	if s.Type == "array" && s.Items == nil {
		v.bad("%s: items: missing field", what)
	}
	if s.Type == "" && len(s.AnyOf) == 0 {
		v.bad("%s: no type", what)
	}
	if s.Type != "array" && (s.Items != nil || s.MinItems != nil || s.MaxItems != nil) {
		v.bad("%s: items: field predicate failed: $type == Type.ARRAY", what)
	}
	if s.Type != "string" && (s.Enum != nil || s.MinLength != nil || s.MaxLength != nil || s.Pattern != "") {
		v.bad("%s: enum, pattern or a length: only allowed for STRING type", what)
	}
	if s.Type != "number" && s.Type != "integer" && (s.Minimum != nil || s.Maximum != nil) {
		v.bad("%s: minimum or maximum: only allowed for numbers", what)
	}
	if s.Type != "" && len(s.AnyOf) > 0 {
		v.bad("%s: when using any_of, it must be the only field set", what)
	}
	if s.Properties != nil && (len(s.Properties) == 0 || s.Type != "object") {
		v.bad("%s: properties that are empty or of no object", what)
	}
	for _, name := range s.Required {
		if s.Properties[name] == nil {
			v.bad("%s: %q is required and no property", what, name)
		}
	}
	for name, p := range s.Properties {
		v.geminiSchema(what+"."+name, p)
	}
	for _, c := range s.AnyOf {
		v.geminiSchema(what+"|", c)
	}
	if s.Items != nil {
		v.geminiSchema(what+"[]", s.Items)
	}
}

// geminiContent checks one content against the calls still open, and returns
// those open after it. All results come in one content, in the order of the calls.
func (v *validator) geminiContent(what string, c geminiContent, open []string) []string {
	if c.Role != "user" && c.Role != "model" {
		v.bad("%s: unknown role", what)
	}
	if len(c.Parts) == 0 {
		v.bad("%s: no parts", what)
	}
	var calls, results []string
	for _, p := range c.Parts {
		v.geminiPart(what, p)
		switch {
		case p.Call != nil:
			v.geminiName(what, p.Call.Name)
			v.object(what+" args", p.Call.Args)
			if p.Call.ID != "" {
				v.callID(what, p.Call.ID)
			}
			calls = append(calls, p.Call.ID+" "+p.Call.Name)
			if c.Role != "model" {
				v.bad("%s: the user calls", what)
			}
		case p.Response != nil:
			v.object(what+" response", p.Response.Response)
			results = append(results, p.Response.ID+" "+p.Response.Name)
			if c.Role != "user" {
				v.bad("%s: the model answers a call", what)
			}
		case (p.Signature != "" || p.Thought) && c.Role != "model":
			v.bad("%s: a thought of the user", what)
		}
	}
	if len(results) > 0 && len(results) != len(c.Parts) {
		v.bad("%s: results beside other parts", what)
	}
	if !slices.Equal(results, open) {
		v.bad("%s: answers %q, the open calls are %q", what, results, open)
	}
	return calls
}

func (v *validator) geminiPart(what string, p geminiPart) {
	kinds := 0
	for _, is := range []bool{p.Text != nil, p.Inline != nil, p.Call != nil, p.Response != nil} {
		if is {
			kinds++
		}
	}
	if kinds != 1 {
		v.bad("%s: a part of %d kinds", what, kinds)
	}
	if p.Text != nil && p.Signature == "" {
		v.text(what, *p.Text)
	}
	if p.Inline != nil {
		v.geminiBlob(what, *p.Inline)
	}
	if p.Response != nil {
		for _, inner := range p.Response.Parts {
			if inner.Inline == nil {
				v.bad("%s: a result's part without data", what)
				continue
			}
			v.geminiBlob(what, *inner.Inline)
		}
	}
}

func (v *validator) geminiBlob(what string, b geminiBlob) {
	if _, err := base64.StdEncoding.DecodeString(b.Data); err != nil || b.Data == "" ||
		!slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, b.MIMEType) {
		v.bad("%s: an image of type %q that cannot be read", what, b.MIMEType)
	}
}
