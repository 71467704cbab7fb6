package fake

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// Check returns the fault of a history about to be sent, as strict as the strictest API; nil if nothing.
func Check(messages []provider.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if messages[0].Role != provider.RoleUser {
		return fmt.Errorf("the history starts with role %q", messages[0].Role)
	}
	if last := messages[len(messages)-1]; last.Role == provider.RoleAssistant {
		return fmt.Errorf("the history ends with an assistant message")
	}
	c := checker{ids: map[string]bool{}}
	for i, m := range messages {
		if err := c.message(m); err != nil {
			return fmt.Errorf("message %d (%s): %w", i, m.Role, err)
		}
	}
	if len(c.open) > 0 {
		return fmt.Errorf("call %q has no result", c.open[0].ID)
	}
	return nil
}

type checker struct {
	ids  map[string]bool
	open []provider.ToolCall // calls of the last assistant message that wait for a result
}

func (c *checker) message(m provider.Message) error {
	if len(m.Parts) == 0 {
		return fmt.Errorf("it is empty")
	}
	if m.Role == provider.RoleTool {
		return c.result(m)
	}
	if len(c.open) > 0 {
		return fmt.Errorf("it comes before the result of call %q", c.open[0].ID)
	}
	said := false // something other than reasoning
	for _, p := range m.Parts {
		var err error
		switch p := p.(type) {
		case provider.Text:
			said, err = true, checkText(p, m)
		case provider.Image:
			said, err = true, checkImage(p)
			if m.Role != provider.RoleUser {
				err = fmt.Errorf("it holds an image")
			}
		case provider.Reasoning:
			if m.Role != provider.RoleAssistant || m.Partial {
				err = fmt.Errorf("it holds reasoning")
			} else if !utf8.ValidString(p.Text) {
				err = fmt.Errorf("its reasoning is not UTF-8")
			}
		case provider.ToolCall:
			if m.Role != provider.RoleAssistant || m.Partial {
				return fmt.Errorf("it holds a call")
			}
			said, err = true, c.call(p)
		default:
			err = fmt.Errorf("it holds a %T", p)
		}
		if err != nil {
			return err
		}
	}
	if !said {
		return fmt.Errorf("it holds nothing but reasoning")
	}
	if m.Role != provider.RoleUser && m.Role != provider.RoleAssistant {
		return fmt.Errorf("nobody has this role")
	}
	return nil
}

func (c *checker) call(call provider.ToolCall) error {
	if call.ID == "" || !utf8.ValidString(call.ID) {
		return fmt.Errorf("call id %q is empty or no text", call.ID)
	}
	if call.Name == "" || provider.Identifier(call.Name, 128) != call.Name {
		return fmt.Errorf("tool name %q does not fit ^[a-zA-Z0-9_-]{1,128}$", call.Name)
	}
	if c.ids[call.ID] {
		return fmt.Errorf("call id %q comes twice", call.ID)
	}
	var object map[string]any
	if err := json.Unmarshal(call.Input, &object); err != nil || object == nil {
		return fmt.Errorf("the input of call %q is not an object: %s", call.ID, call.Input)
	}
	if !utf8.Valid(call.Input) || !utf8.ValidString(call.Raw) {
		return fmt.Errorf("the input of call %q is not UTF-8", call.ID)
	}
	if !bytes.Equal(provider.CleanJSON(call.Input), call.Input) {
		return fmt.Errorf("the input of call %q holds half a surrogate pair", call.ID)
	}
	c.ids[call.ID] = true
	c.open = append(c.open, call)
	return nil
}

func (c *checker) result(m provider.Message) error {
	r, ok := m.Parts[0].(provider.ToolResult)
	if !ok || len(m.Parts) != 1 {
		return fmt.Errorf("it does not hold exactly one result")
	}
	if len(c.open) == 0 {
		return fmt.Errorf("result %q has no call right before it", r.CallID)
	}
	call := c.open[0]
	if r.CallID != call.ID || r.Name != call.Name {
		return fmt.Errorf("result %s/%q comes where that of %s/%q belongs", r.Name, r.CallID, call.Name, call.ID)
	}
	if !utf8.ValidString(r.Text) {
		return fmt.Errorf("result %q is not UTF-8", r.CallID)
	}
	for _, img := range r.Images {
		if err := checkImage(img); err != nil {
			return err
		}
	}
	c.open = c.open[1:]
	return nil
}

func checkText(t provider.Text, m provider.Message) error {
	switch {
	case !utf8.ValidString(t.Text):
		return fmt.Errorf("its text is not UTF-8")
	case strings.TrimSpace(t.Text) == "" && t.Opaque == "":
		return fmt.Errorf("it has an empty text")
	case t.Opaque != "" && m.Partial:
		return fmt.Errorf("it broke off, but holds an opaque payload")
	}
	return nil
}

func checkImage(img provider.Image) error {
	if len(img.Data) == 0 || img.MediaType == "" {
		return fmt.Errorf("it has an empty image")
	}
	return nil
}
