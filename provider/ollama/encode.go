package ollama

import (
	"encoding/base64"
	"encoding/json"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// body is the request. History comes last, so that a request is a prefix of the next one.
type body struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	Think     json.RawMessage `json:"think,omitempty"` // a truth value or a word
	KeepAlive string          `json:"keep_alive,omitempty"`
	// Truncate and Shift say whether the server may drop messages that do not fit.
	Truncate bool        `json:"truncate"`
	Shift    bool        `json:"shift"`
	Options  options     `json:"options"`
	Tools    []wire.Tool `json:"tools,omitempty"`
	Messages []message   `json:"messages"`
	// Format stands behind the history, which stays a prefix so.
	Format json.RawMessage `json:"format,omitempty"`
}

// format is the schema that an answer is held to, or nil. The server constrains from the first token
// on: no tool can be called then.
func format(req provider.Request, l wire.Learned) json.RawMessage {
	if l.Without(wire.Structure) || len(req.Tools) > 0 && !req.NoCalls {
		return nil
	}
	return req.Schema
}

type options struct {
	NumCtx      int      `json:"num_ctx,omitempty"`
	NumPredict  int      `json:"num_predict,omitempty"`
	Temperature *float64 `json:"temperature,omitempty"`
}

// message is any message of the history; which fields are set depends on Role.
type message struct {
	Role       string     `json:"role"`
	ToolName   string     `json:"tool_name,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	Content    string     `json:"content"`
	Thinking   string     `json:"thinking,omitempty"`
	Images     []string   `json:"images,omitempty"` // base64 of the bytes
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string       `json:"id"`
	Function functionCall `json:"function"`
}

type functionCall struct {
	Index     int             `json:"index"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// The limits for names and ids of calls that others made.
const (
	nameLimit = 128
	idLimit   = 64
)

// encode makes the body of a request by the provider of the given name.
func encode(name string, req provider.Request, f facts, keepAlive string) (raw []byte, size int, err error) {
	b := body{Model: req.Model, Stream: true, KeepAlive: keepAlive, Think: f.think(req.Effort),
		Options: options{NumCtx: f.window, NumPredict: max(0, req.MaxTokens), Temperature: req.Temperature}}
	if f.window > 0 {
		b.Options.NumPredict = min(b.Options.NumPredict, max(1, f.window/2)) // the rest is the prompt's
	}
	if f.mayCall() && !req.NoCalls { // the API has no word for it
		for _, t := range req.Tools {
			b.Tools = append(b.Tools, wire.NewTool(t, parameters(t.Schema)))
		}
	}
	h := history{facts: f, ids: wire.IDsOf(name, req, idLimit), names: map[string]string{}}
	if !wire.Blank(req.System) {
		h.messages = append(h.messages, message{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		h.add(m)
	}
	h.flush()
	b.Messages, b.Format = h.messages, req.Schema
	raw, err = provider.Marshal(b)
	return raw, measure(len(raw), h.messages), err
}

// tool and property are the fixed types into which the server reads a tool's schema: one bad
// tool would refuse every request.
type tool struct {
	Type       string              `json:"type"`
	Required   []string            `json:"required"`
	Properties map[string]property `json:"properties"`
}

type property struct {
	AnyOf       []property          `json:"anyOf"`
	Type        kinds               `json:"type"`
	Description string              `json:"description"`
	Enum        []any               `json:"enum"`
	Properties  map[string]property `json:"properties"`
	Required    []string            `json:"required"`
}

type kinds []string

// UnmarshalJSON takes one type, or a list of types.
func (k *kinds) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(k))
	}
	return json.Unmarshal(data, new(string))
}

// parameters is a tool's schema as the server can read it. One that fits stays byte for byte.
func parameters(schema json.RawMessage) json.RawMessage {
	schema = wire.Schema(schema)
	var t tool
	if json.Unmarshal(schema, &t) != nil || t.Type != "object" || t.Properties == nil {
		return wire.Subset(schema, true)
	}
	return schema
}

// measure is the part of a body that a model has to read, in bytes: all except the images and the
// reasoning, of which most models get none from before the last question.
func measure(body int, messages []message) int {
	for _, m := range messages {
		for _, img := range m.Images {
			body -= len(img)
		}
		body -= len(m.Thinking)
	}
	return body
}

// think is the switch for an effort, or nil. Few models know levels, which cannot be off.
func (f facts) think(effort provider.Effort) json.RawMessage {
	switch {
	case effort == "" || !f.mayThink():
		return nil
	case !f.levels && effort == provider.EffortOff:
		return json.RawMessage("false")
	case !f.levels:
		return json.RawMessage("true")
	case effort == provider.EffortOff || effort == provider.EffortLow:
		return json.RawMessage(`"low"`)
	case effort == provider.EffortMedium:
		return json.RawMessage(`"medium"`)
	}
	return json.RawMessage(`"high"`)
}

func encoded(img provider.Image) string { return base64.StdEncoding.EncodeToString(img.Data) }
