package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"artoo/provider"
)

// toolName is a tool's name without the tokens of the model's format (read<|channel|>commentary).
func toolName(name string) string {
	if bare, _, leaked := strings.Cut(name, "<|"); leaked && strings.TrimSpace(bare) != "" {
		name = strings.TrimSpace(bare)
	}
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "_")
}

// several takes apart a call whose arguments are several objects: calls under one index.
func several(call provider.ToolCall) []provider.ToolCall {
	var calls []provider.ToolCall
	dec := json.NewDecoder(strings.NewReader(call.Raw))
	for call.Raw != "" {
		var raw json.RawMessage
		err := dec.Decode(&raw)
		if err == io.EOF {
			break
		}
		one := call
		if one.Raw = ""; err == nil {
			var ok bool
			if one.Input, ok = Object(raw); ok {
				calls = append(calls, one)
				continue
			}
		}
		return []provider.ToolCall{call}
	}
	if len(calls) < 2 {
		return []provider.ToolCall{call}
	}
	return calls
}

// maxName is how much of a tool's name is kept, in bytes; no API has longer ones.
const maxName = 128

// LikelyTool is the tool whose arguments the text names most of, or "unknown".
func LikelyTool(raw string, tools []provider.ToolSpec) string {
	best, most := "unknown", -1
	for _, t := range tools {
		var s struct {
			Properties map[string]json.RawMessage `json:"properties"`
		}
		if Decode(t.Schema, &s) != nil {
			continue
		}
		n := 0
		for name := range s.Properties {
			if strings.Contains(raw, `"`+name+`"`) {
				n++
			}
		}
		if n > most {
			best, most = t.Name, n
		}
	}
	return best
}

// Tool is a function in the form of Chat Completions and Ollama.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// NewTool is the tool with its schema in the form that the server takes.
func NewTool(t provider.ToolSpec, schema json.RawMessage) Tool {
	out := Tool{Type: "function"}
	out.Function.Name, out.Function.Description, out.Function.Parameters = t.Name, t.Description, schema
	return out
}

// eachOnce removes duplicate keys, which Google refuses; the last value counts.
func eachOnce(raw json.RawMessage) json.RawMessage {
	if _, twice := provider.DuplicateKey(raw); !twice {
		return raw
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	if clean, err := provider.Marshal(v); err == nil {
		return clean
	}
	return raw
}

// NewCall makes a tool call of complete arguments. Nothing means none; a JSON string with an object
// is decoded (Qwen). Other text is kept in Raw, as is an object with a duplicate key.
func NewCall(id, name, args string) provider.ToolCall {
	call := provider.ToolCall{ID: id, Name: toolName(name)}
	text := strings.TrimSpace(args)
	if strings.HasPrefix(text, `"`) {
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil {
			text = strings.TrimSpace(inner)
		}
	}
	if text == "" || text == "null" {
		call.Input = json.RawMessage("{}")
		return call
	}
	var ok bool
	if call.Input, ok = Object(json.RawMessage(text)); !ok {
		call.Raw = strings.ToValidUTF8(args, "\uFFFD")
	} else if _, twice := provider.DuplicateKey([]byte(text)); twice {
		call.Raw = strings.ToValidUTF8(text, "\uFFFD")
	}
	return call
}
