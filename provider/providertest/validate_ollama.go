package providertest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

type ollamaBody struct {
	Model     string          `json:"model"`
	Stream    *bool           `json:"stream"`
	Think     json.RawMessage `json:"think"`
	KeepAlive string          `json:"keep_alive"`
	Truncate  *bool           `json:"truncate"`
	Shift     *bool           `json:"shift"`
	Options   struct {
		NumCtx      int      `json:"num_ctx"`
		NumPredict  int      `json:"num_predict"`
		Temperature *float64 `json:"temperature"`
	} `json:"options"`
	Tools []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  struct {
				Type       string                    `json:"type"`
				Required   []string                  `json:"required"`
				Properties map[string]ollamaProperty `json:"properties"`
			} `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages []ollamaMessage `json:"messages"`
}

// ollamaProperty is a property of a tool as the server reads it, into fields of
// fixed types.
type ollamaProperty struct {
	AnyOf       []ollamaProperty          `json:"anyOf"`
	Type        ollamaType                `json:"type"`
	Items       any                       `json:"items"`
	Description string                    `json:"description"`
	Enum        []any                     `json:"enum"`
	Properties  map[string]ollamaProperty `json:"properties"`
	Required    []string                  `json:"required"`
}

type ollamaType []string

func (o *ollamaType) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(o))
	}
	var word string
	return json.Unmarshal(raw, &word)
}

type ollamaMessage struct {
	Role       string   `json:"role"`
	Content    string   `json:"content"`
	Thinking   string   `json:"thinking"`
	Images     []string `json:"images"`
	ToolName   string   `json:"tool_name"`
	ToolCallID string   `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Index     int             `json:"index"`
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (v *validator) ollama(body []byte) {
	var b ollamaBody
	if err := json.Unmarshal(body, &b); err != nil {
		v.bad("the body is no chat request: %w", err)
		return
	}
	v.ollamaHead(b, body)
	var open []string // the calls without a result, as id and name
	for i, m := range b.Messages {
		open = v.ollamaMessage(fmt.Sprintf("message %d (%s)", i, m.Role), i, m, open)
		if i > 0 && m.Role == "assistant" && b.Messages[i-1].Role == "assistant" {
			v.bad("message %d: the model speaks twice in a row", i)
		}
	}
	v.ended(open)
	if n := len(b.Messages); n == 0 || b.Messages[n-1].Role != "user" && b.Messages[n-1].Role != "tool" {
		v.bad("the history ends neither with the user nor with a tool")
	}
}

func (v *validator) ollamaHead(b ollamaBody, body []byte) {
	if b.Model == "" || b.Stream == nil || !*b.Stream {
		v.bad("model %q, or no stream: both are needed", b.Model)
	}
	if b.Truncate == nil || *b.Truncate || b.Shift == nil || *b.Shift {
		v.bad("the server may cut the prompt in silence")
	}
	if b.Options.NumCtx > 0 && b.Options.NumPredict >= b.Options.NumCtx {
		v.bad("a reply of %d in a window of %d", b.Options.NumPredict, b.Options.NumCtx)
	}
	if _, err := time.ParseDuration(b.KeepAlive); b.KeepAlive != "" && err != nil { // the server reads the text as Go does
		v.bad("keep_alive: %w", err)
	}
	if b.Think != nil && !slices.Contains([]string{`true`, `false`, `"low"`, `"medium"`, `"high"`, `"max"`},
		string(b.Think)) {
		v.bad("think is %s", b.Think)
	}
	for _, t := range b.Tools {
		v.tool(t.Function.Name, 128)
		if t.Type != "function" {
			v.bad("the tool %q is no function", t.Function.Name)
		}
		if t.Function.Parameters.Type != "object" || t.Function.Parameters.Properties == nil {
			v.bad("the parameters of %q are no object", t.Function.Name)
		}
	}
	if bytes.Contains(body, []byte(`"data:`)) {
		v.bad("an address where bytes belong")
	}
}

// ollamaMessage checks one message against the calls still open, and returns
// those open after it. Results come in the order of the calls.
func (v *validator) ollamaMessage(what string, i int, m ollamaMessage, open []string) []string {
	if m.Role != "tool" && len(open) > 0 {
		v.bad("%s: comes before the results of %q", what, open)
		open = nil
	}
	for _, img := range m.Images {
		if _, err := base64.StdEncoding.DecodeString(img); err != nil || img == "" {
			v.bad("%s: an image that is no base64", what)
		}
	}
	if m.Thinking != "" && m.Role != "assistant" {
		v.bad("%s: reasoning", what)
	}
	if m.ToolCalls == nil && m.Images == nil {
		v.text(what, m.Content)
	}
	switch m.Role {
	case "system":
		if i != 0 {
			v.bad("%s: only the first message may be one", what)
		}
	case "user":
	case "tool":
		return v.answered(what, m.ToolCallID+" "+m.ToolName, open)
	case "assistant":
		for n, c := range m.ToolCalls {
			v.callID(what, c.ID)
			v.name(what, c.Function.Name, 128)
			v.object(what+" arguments", c.Function.Arguments)
			if c.Function.Index != n {
				v.bad("%s: the call %q has the index %d", what, c.ID, c.Function.Index)
			}
			open = append(open, c.ID+" "+c.Function.Name)
		}
	default:
		v.bad("%s: unknown role", what)
	}
	return open
}
