package gemini

import (
	"bytes"
	"encoding/base64"
	"encoding/json"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// body is the request; the address names the model. History comes last, so that a request
// is a prefix of the next one.
type body struct {
	System     *content          `json:"systemInstruction,omitempty"`
	Tools      []tools           `json:"tools,omitempty"`
	Generation *generationConfig `json:"generationConfig,omitempty"`
	Contents   []content         `json:"contents"`
	ToolConfig *toolConfig       `json:"toolConfig,omitempty"` // behind the history, which stays a prefix so
}

type toolConfig struct {
	Calling callingConfig `json:"functionCallingConfig"`
}

type callingConfig struct {
	Mode string `json:"mode"`
}

type generationConfig struct {
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	Thinking        *thinkingConfig `json:"thinkingConfig,omitempty"`
	MIMEType        string          `json:"responseMimeType,omitempty"`
	JSONSchema      json.RawMessage `json:"responseJsonSchema,omitempty"`
}

type tools struct {
	Declarations []declaration `json:"functionDeclarations"`
}

// declaration has its schema as any JSON Schema, or in the subset.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

type content struct {
	Role  string `json:"role,omitempty"`
	Parts []part `json:"parts"`
}

// part is any part of a content. An empty Text may carry a signature.
type part struct {
	Text      *string           `json:"text,omitempty"`
	Thought   bool              `json:"thought,omitempty"`
	Inline    *blob             `json:"inlineData,omitempty"`
	Call      *functionCall     `json:"functionCall,omitempty"`
	Response  *functionResponse `json:"functionResponse,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
}

type blob struct {
	MIMEType string `json:"mimeType"`
	Data     string `json:"data"`
}

type functionCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

type functionResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response responseObject `json:"response"`
	Parts    []part         `json:"parts,omitempty"`
}

// responseObject has one of two keys that mean something to the model.
type responseObject struct {
	Output *string `json:"output,omitempty"`
	Error  *string `json:"error,omitempty"`
}

// The limits for names and ids of calls, and the words for a lost signature.
const (
	nameLimit   = 128
	idLimit     = 64
	noSignature = "skip_thought_signature_validator"
)

// encode makes the body of a request by the provider of the given name.
func encode(name string, req provider.Request, l wire.Learned) ([]byte, error) {
	f := parseFamily(req.Model)
	var b body
	if !wire.Blank(req.System) {
		b.System = &content{Parts: []part{textPart(req.System)}}
	}
	if declared := declare(req.Tools, l); len(declared) > 0 {
		b.Tools = []tools{{Declarations: declared}}
		if req.NoCalls {
			b.ToolConfig = &toolConfig{Calling: callingConfig{Mode: "NONE"}}
		}
	}
	g := generationConfig{MaxOutputTokens: max(0, req.MaxTokens)}
	if !l.Without(wire.Temperature) {
		g.Temperature = req.Temperature
	}
	if !l.Without(wire.Thinking) {
		g.Thinking = f.think(req.Effort, g.MaxOutputTokens)
	}
	if g.JSONSchema = format(req, l); g.JSONSchema != nil {
		g.MIMEType = "application/json"
	}
	if g.MaxOutputTokens != 0 || g.Temperature != nil || g.Thinking != nil || g.JSONSchema != nil {
		b.Generation = &g
	}
	h := history{family: f, learned: l, ids: wire.IDsOf(name, req, idLimit), names: map[string]string{}}
	for _, m := range req.Messages {
		h.add(m)
	}
	h.flush()
	b.Contents = h.contents
	return provider.Marshal(b)
}

// format is the schema that an answer is held to, or nil. Before Gemini 3 that does not go with tools.
func format(req provider.Request, l wire.Learned) json.RawMessage {
	f := parseFamily(req.Model)
	if req.Schema == nil || l.Without(wire.Structure) || !f.gemini || len(req.Tools) > 0 && f.version < 300 {
		return nil
	}
	schema, ok := wire.Structured(req.Schema, wire.Strictness{})
	if !ok {
		return nil
	}
	return schema
}

// declare lists the tools, without those whose schema the server refuses.
func declare(specs []provider.ToolSpec, l wire.Learned) []declaration {
	var list []declaration
	for _, t := range specs {
		d := declaration{Name: t.Name, Description: t.Description}
		switch l.Schema(t.Name) {
		case wire.SchemaNone:
			continue
		case wire.SchemaPlain:
			d.Parameters = bytes.Replace(wire.Subset(t.Schema, false), []byte(`"properties":{},`), nil, 1) // empty ones are refused
		default:
			d.JSONSchema = wire.Schema(t.Schema)
		}
		list = append(list, d)
	}
	return list
}

// functionName is a name as the API takes it: it begins with a letter or _.
func functionName(name string) string {
	name = provider.ToolName(name, nameLimit)
	if c := name[0]; c == '-' || c >= '0' && c <= '9' {
		return "_" + name[:min(len(name), nameLimit-1)]
	}
	return name
}

func textPart(text string) part { return part{Text: &text} }

// image is an image block, or a word in its place where the API has no such type.
func image(img provider.Image) part {
	switch img.MediaType {
	case "image/png", "image/jpeg", "image/webp", "image/heic", "image/heif":
		return part{Inline: &blob{MIMEType: img.MediaType, Data: base64.StdEncoding.EncodeToString(img.Data)}}
	}
	return textPart("(an image of type " + img.MediaType +
		" was left out: this model takes PNG, JPEG, WebP, HEIC and HEIF)")
}
