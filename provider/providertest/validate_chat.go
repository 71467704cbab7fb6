package providertest

import (
	"encoding/json"
	"fmt"
	"strings"
)

type chatBody struct {
	Model               string `json:"model"`
	Stream              bool   `json:"stream"`
	MaxTokens           *int   `json:"max_tokens"`
	MaxCompletionTokens *int   `json:"max_completion_tokens"`
	Tools               []struct {
		Type     string `json:"type"`
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Messages       []chatMessage `json:"messages"`
	ToolChoice     string        `json:"tool_choice"`
	ResponseFormat *struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (v *validator) chat(body []byte) {
	var b chatBody
	if err := json.Unmarshal(body, &b); err != nil {
		v.bad("the body is no Chat Completions request: %w", err)
		return
	}
	if b.Model == "" || !b.Stream {
		v.bad("model %q, stream %v: both are needed", b.Model, b.Stream)
	}
	if b.MaxTokens != nil && b.MaxCompletionTokens != nil {
		v.bad("two limits for the reply's length")
	}
	for _, t := range b.Tools {
		v.tool(t.Function.Name, 64)
		v.object("the schema of "+t.Function.Name, t.Function.Parameters)
		if t.Type != "function" {
			v.bad("the tool %q is no function", t.Function.Name)
		}
	}
	if f := b.ResponseFormat; f != nil && (f.Type != "json_schema" || f.JSONSchema.Name == "" || !json.Valid(f.JSONSchema.Schema) ||
		len(b.Tools) > 0 && b.ToolChoice != "none") { // llama.cpp: no grammar with tools
		v.bad("a response format of the type %q for %q, with %d tools", f.Type, f.JSONSchema.Name, len(b.Tools))
	}
	var open []string
	for i, m := range b.Messages {
		open = v.chatMessage(fmt.Sprintf("message %d (%s)", i, m.Role), i, m, open)
	}
	v.ended(open)
	if n := len(b.Messages); n == 0 || b.Messages[n-1].Role != "user" && b.Messages[n-1].Role != "tool" {
		v.bad("the history ends neither with the user nor with a tool")
	}
	for i := 1; i < len(b.Messages); i++ {
		if b.Messages[i].Role == "assistant" && b.Messages[i-1].Role == "assistant" {
			v.bad("message %d: the model speaks twice in a row", i)
		}
	}
}

// chatMessage checks one message against the calls still open, and returns
// those open after it. Results come in the order of the calls, as promised.
func (v *validator) chatMessage(what string, i int, m chatMessage, open []string) []string {
	if m.Role != "tool" && len(open) > 0 {
		v.bad("%s: comes before the results of %q", what, open)
		open = nil
	}
	switch m.Role {
	case "system", "developer":
		if i != 0 {
			v.bad("%s: only the first message may be one", what)
		}
		v.chatContent(what, m.Content)
	case "user":
		v.chatContent(what, m.Content)
	case "tool":
		v.chatContent(what, m.Content)
		return v.answered(what, m.ToolCallID, open)
	case "assistant":
		silent := m.Content == nil || string(m.Content) == "null"
		if silent && len(m.ToolCalls) == 0 {
			v.bad("%s: neither content nor calls", what)
		}
		if !silent {
			v.chatContent(what, m.Content)
		}
		for _, c := range m.ToolCalls {
			v.callID(what, c.ID)
			v.name(what, c.Function.Name, 64)
			var args string
			if err := json.Unmarshal(c.Function.Arguments, &args); err != nil || c.Type != "function" {
				v.bad("%s: arguments must be a string, the type function", what)
			}
			v.object(what+" arguments", []byte(args))
			v.surrogates(what+" arguments", []byte(args))
			open = append(open, c.ID)
		}
	default:
		v.bad("%s: unknown role", what)
	}
	return open
}

func (v *validator) chatContent(what string, raw json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		v.text(what, text)
		return
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) == 0 {
		v.bad("%s: content is neither text nor a list of parts", what)
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			v.text(what, p.Text)
		case "image_url":
			if !strings.HasPrefix(p.ImageURL.URL, "data:image/") && !strings.HasPrefix(p.ImageURL.URL, "http") {
				v.bad("%s: not an image address: %.40s", what, p.ImageURL.URL)
			}
		default:
			v.bad("%s: a part of type %q", what, p.Type)
		}
	}
}
