package conversation

import (
	"bytes"
	"encoding/json"
	"slices"

	"artoo/provider"
)

// masked masks keys in the message. The model's own text may be signed and stays, unless replies is true.
func masked(m provider.Message, mask func(string) string, replies bool) provider.Message {
	if mask == nil || m.Role == provider.RoleAssistant && !replies {
		return m
	}
	m.Parts = slices.Clone(m.Parts)
	for i, part := range m.Parts {
		switch p := part.(type) {
		case provider.Text:
			p.Text = mask(p.Text)
			m.Parts[i] = p
		case provider.ToolResult:
			p.Text = mask(p.Text)
			if p.Effect != nil {
				effect := *p.Effect
				effect.Command, effect.Decided = mask(effect.Command), mask(effect.Decided)
				p.Effect = &effect
			}
			m.Parts[i] = p
		case provider.ToolCall:
			p.Input, p.Raw = maskedInput(p.Input, mask), mask(p.Raw)
			m.Parts[i] = p
		}
	}
	return m
}

// maskedInput masks the texts in a call's input, or all of it if it is not JSON.
func maskedInput(input json.RawMessage, mask func(string) string) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(input))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return json.RawMessage(mask(string(input)))
	}
	found := false
	value = maskedValue(value, func(text string) string {
		masked := mask(text)
		found = found || masked != text
		return masked
	})
	if out, err := provider.Marshal(value); found && err == nil {
		return out
	}
	return input
}

func maskedValue(value any, mask func(string) string) any {
	switch v := value.(type) {
	case string:
		return mask(v)
	case []any:
		for i := range v {
			v[i] = maskedValue(v[i], mask)
		}
	case map[string]any:
		for name := range v {
			v[name] = maskedValue(v[name], mask)
		}
	}
	return value
}

// maskedTrim is the trim without keys in what it puts in the place of others.
func maskedTrim(r trimRecord, mask func(string) string) trimRecord {
	r.Edits, r.Notes = slices.Clone(r.Edits), slices.Clone(r.Notes)
	for i := range r.Edits {
		r.Edits[i].Text = mask(r.Edits[i].Text)
	}
	for i := range r.Notes {
		r.Notes[i].Text = mask(r.Notes[i].Text)
	}
	if r.Done != nil {
		did := *r.Done
		did.Commands = slices.Clone(did.Commands)
		for i := range did.Commands {
			did.Commands[i].Line = mask(did.Commands[i].Line)
		}
		did.Decided = slices.Clone(did.Decided)
		for i := range did.Decided {
			did.Decided[i] = mask(did.Decided[i])
		}
		r.Done = &did
	}
	return r
}
