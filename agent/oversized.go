package agent

import (
	"encoding/json"
	"fmt"

	"artoo/provider"
)

// bytesPerToken is what a token of a call's input holds at most, in bytes: JSON
// and code have fewer.
const bytesPerToken = 4

// withoutOversized is a reply whose calls fill at most half of the context's
// budget: of the others only the beginning is kept, in Raw, and they are not run.
// With all of it in the history no later request could be sent, since the last
// steps are never left out.
func (t *turn) withoutOversized(m provider.Message) provider.Message {
	room := t.conv.Budget() / 2 * bytesPerToken
	if room <= 0 {
		return m // there is no budget
	}
	parts := make([]provider.Part, len(m.Parts))
	for i, p := range m.Parts {
		if c, ok := p.(provider.ToolCall); ok {
			if room -= len(c.Input) + len(c.Raw); room < 0 {
				p = t.oversized(c)
			}
		}
		parts[i] = p
	}
	m.Parts = parts
	return m
}

// oversized is what is kept of a call that is too large, with a remark for the
// one that answers it.
func (t *turn) oversized(c provider.ToolCall) provider.ToolCall {
	whole := c.Raw
	if whole == "" {
		whole = string(c.Input)
	}
	if t.tooLarge == nil {
		t.tooLarge = map[string]string{}
	}
	t.tooLarge[c.ID] = fmt.Sprintf("has %d bytes, more than the context has room for", len(whole))
	c.Input, c.Raw = json.RawMessage("{}"), preview(whole, 300)
	return c
}
