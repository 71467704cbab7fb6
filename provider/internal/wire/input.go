package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"artoo/provider"
)

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

// Object returns raw as a compact, valid JSON object. ok is false, and it is empty, if it is none.
func Object(raw json.RawMessage) (clean json.RawMessage, ok bool) {
	if t := bytes.TrimLeft(raw, " \t\r\n"); len(t) == 0 || t[0] != '{' || !json.Valid(t) {
		return json.RawMessage("{}"), false
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return json.RawMessage("{}"), false
	}
	return provider.CleanJSON(eachOnce(b.Bytes())), true
}

// UniqueIDs gives each call an ID that is not in use. New IDs depend only on the history.
func UniqueIDs(calls []provider.ToolCall, history []provider.Message) {
	used := map[string]bool{}
	for _, m := range history {
		for _, p := range m.Parts {
			if c, ok := p.(provider.ToolCall); ok {
				used[c.ID] = true
			}
		}
	}
	n := len(used)
	for i := range calls {
		id := strings.ToValidUTF8(calls[i].ID, "_")
		for id == "" || used[id] {
			n++
			id = "call_" + strconv.Itoa(n)
		}
		used[id] = true
		calls[i].ID = id
	}
}

// IDs maps the ids of other providers' calls to ids this one takes, and all if Exact is set.
type IDs struct {
	Exact int // ids are just so many letters and digits; 0 where they need not be

	provider string // its ids need no change
	model    string
	limit    int // the longest id that is taken
	to       map[string]string
	used     map[string]bool
}

// IDsOf is ready for the history of a request to the provider of the given name.
func IDsOf(name string, req provider.Request, limit int) IDs {
	return IDs{provider: name, model: req.Model, limit: limit, to: map[string]string{}, used: map[string]bool{}}
}

// Own reports whether a message is a whole reply of this very model: its payloads may go back.
func (m *IDs) Own(reply provider.Message) bool {
	return reply.Provider == m.provider && reply.Model == m.model && !reply.Partial
}

// Call returns the id to send for a call. Calls must come in the order of the history.
func (m *IDs) Call(id, from string) string {
	if to, ok := m.to[id]; ok {
		return to
	}
	to := id
	switch {
	case m.Exact > 0:
		to = exactly(id, m.Exact, "")
	case from != m.provider || id == "":
		to = provider.Identifier(id, m.limit)
	}
	for n := 1; to == "" || m.used[to]; n++ {
		if suffix := strconv.Itoa(n); m.Exact > 0 {
			to = exactly(id, m.Exact, suffix)
		} else {
			to = provider.Identifier(id, m.limit-len(suffix)-1) + "_" + suffix
		}
	}
	m.to[id], m.used[to] = to, true
	return to
}

// exactly is an id of the given length that ends in suffix: the end of id differs most.
func exactly(id string, length int, suffix string) string {
	word := make([]byte, 0, length+len(id))
	for range length {
		word = append(word, '0')
	}
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			word = append(word, c)
		}
	}
	return string(word[len(word)-length+len(suffix):]) + suffix
}

// Result returns the id to send for the result of the call with the given id.
func (m *IDs) Result(id string) string {
	if to, ok := m.to[id]; ok {
		return to
	}
	return provider.Identifier(id, m.limit)
}

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
