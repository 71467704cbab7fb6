package foreign

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"artoo/provider"
)

// codexItem is the payload of a line of a session of Codex. The history is its
// response_item lines, in the form of OpenAI's Responses.
type codexItem struct {
	Type      string
	Role      string
	Content   json.RawMessage
	Name      string
	Arguments string
	Input     string          // set for a custom tool's call
	Action    json.RawMessage // set for a local_shell_call
	CallID    string          `json:"call_id"`
	Output    json.RawMessage
	Passed    struct {
		Kinds []string `json:"content_item_kinds"`
	} `json:"internal_chat_message_metadata_passthrough"`
	// Of session_meta and turn_context.
	ID, CWD, Model string
}

type codexReader struct {
	s     Session
	names map[string]string // call names by ID
}

func (c *codexReader) line(line []byte) {
	var l struct {
		Type    string
		Payload json.RawMessage
	}
	var item codexItem
	if json.Unmarshal(line, &l) != nil || json.Unmarshal(l.Payload, &item) != nil {
		return
	}
	switch l.Type {
	case "session_meta":
		c.s.ID, c.s.Dir = cmp.Or(c.s.ID, item.ID), cmp.Or(c.s.Dir, item.CWD)
	case "turn_context":
		c.s.Model = cmp.Or(item.Model, c.s.Model)
	case "response_item":
		c.item(item)
	}
}

func (c *codexReader) item(item codexItem) {
	switch item.Type {
	case "message":
		text := texts(item.Content)
		switch {
		case strings.TrimSpace(text) == "":
		case item.Role == "assistant":
			c.reply(provider.Text{Text: text})
		case item.Role == "user" && !ofCodex(item, text):
			c.s.Messages = append(c.s.Messages, provider.UserText(text))
		}
	case "function_call":
		c.call(item.CallID, item.Name, json.RawMessage(item.Arguments))
	case "custom_tool_call":
		input, err := json.Marshal(map[string]string{"input": item.Input})
		if err == nil {
			c.call(item.CallID, item.Name, input)
		}
	case "local_shell_call":
		c.call(item.CallID, "shell", item.Action)
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
		text := texts(item.Output)
		var wrapped struct {
			Content string
			Output  string
		}
		if text == "" && json.Unmarshal(item.Output, &wrapped) == nil {
			text = cmp.Or(wrapped.Content, wrapped.Output)
		}
		c.s.Messages = append(c.s.Messages, resultOf(item.CallID, c.names[item.CallID], text, false))
	}
}

// ofCodex reports whether a message of the user's role is Codex's own:
// newer files say so, in older ones it stands in tags.
func ofCodex(item codexItem, text string) bool {
	if len(item.Passed.Kinds) > 0 {
		return !slices.Contains(item.Passed.Kinds, "user.text")
	}
	for _, begins := range []string{"<environment_context>", "<user_instructions>", "# AGENTS.md instructions"} {
		if strings.HasPrefix(strings.TrimSpace(text), begins) {
			return true
		}
	}
	return false
}

func (c *codexReader) call(id, name string, input json.RawMessage) {
	c.names[id] = name
	c.reply(callOf(id, name, input))
}

// reply adds to the model's message, which begins after a message of the user or a
// result.
func (c *codexReader) reply(p provider.Part) {
	if n := len(c.s.Messages); n > 0 && c.s.Messages[n-1].Role == provider.RoleAssistant {
		c.s.Messages[n-1].Parts = append(c.s.Messages[n-1].Parts, p)
		return
	}
	c.s.Messages = append(c.s.Messages, provider.Message{Role: provider.RoleAssistant, Model: c.s.Model,
		Parts: []provider.Part{p}})
}
